import type { Schemas } from "@/api";
import { BatchBar } from "@/components/BatchBar";
import { Cost } from "@/components/Cost";
import { Id } from "@/components/Id";
import { LaneBars } from "@/components/LaneBars";
import { jobState, StateText } from "@/components/StateGlyph";
import { TimeAgo } from "@/components/Time";
import type { Column } from "@/components/table/column";
import { between, formatAmount, formatCount, formatDuration, missing } from "@/format";

export type Job = Schemas["Job"];

export const jobColumns: readonly Column<Job>[] = [
  { id: "state", header: "State", width: "104px", fixed: true, narrow: "lead", cell: (j) => <StateText state={jobState(j)} /> },
  { id: "id", header: "Job", width: "92px", fixed: true, narrow: "line", cell: (j) => <Id id={j.id} /> },
  { id: "lane", header: "Lane", width: "88px", narrow: "line", cell: (j) => <LaneBars lane={j.lane} /> },
  { id: "model", header: "Model", width: "minmax(96px, 1fr)", narrow: "line", cell: (j) => j.model },
  { id: "endpoint", header: "Endpoint", width: "160px", extra: true, cell: (j) => <span className="font-mono text-12">{j.endpoint}</span> },
  { id: "items", header: "Items", width: "minmax(136px, 1.2fr)", cell: (j) => <Items job={j} /> },
  { id: "input", header: "Tokens in", width: "84px", align: "right", cell: (j) => formatAmount(started(j) ? j.usage.input_tokens : null) },
  { id: "output", header: "Out", width: "72px", align: "right", cell: (j) => formatAmount(started(j) ? j.usage.output_tokens : null) },
  {
    id: "cost",
    header: "Cost",
    width: "84px",
    align: "right",
    narrow: "side",
    cell: (j) => <Cost usd={started(j) ? j.usage.cost_usd : null} what="settled" />,
  },
  { id: "duration", header: "Duration", width: "84px", align: "right", cell: (j) => formatDuration(between(j.started_at, j.finished_at)) },
  { id: "tags", header: "Tags", width: "minmax(120px, 1fr)", extra: true, cell: (j) => tagWords(j) },
  { id: "created", header: "Created", width: "64px", align: "right", narrow: "line", cell: (j) => <TimeAgo iso={j.created_at} /> },
];

function started(job: Job): boolean {
  return job.started_at !== null;
}

function tagWords(job: Job): string {
  const words = Object.entries(job.tags).map(([name, value]) => `${name}=${value}`);
  return words.join(" ") || missing;
}

/** One item is a number; more are a bar; a job that could not run shows its error code. */
function Items({ job }: { job: Job }) {
  if (job.error) return <span className="font-mono text-12 text-red">{job.error.code}</span>;
  if (job.counts.total <= 1) return <span className="num text-ink-3">{job.counts.total}</span>;
  return (
    <span className="flex items-center gap-2">
      <BatchBar counts={job.counts} className="w-12" />
      <span className="num">{formatCount(job.counts.total)}</span>
    </span>
  );
}
