import type { Schemas } from "@/api";
import { BatchBar } from "@/components/BatchBar";
import { Cost } from "@/components/Cost";
import { Id } from "@/components/Id";
import { LaneBars } from "@/components/LaneBars";
import { jobState, StateText } from "@/components/StateGlyph";
import { TimeAgo } from "@/components/Time";
import type { Column } from "@/components/table/column";
import { between, formatAmount, formatCount, formatDuration, missing } from "@/format";
import { submitter } from "@/pages/job/job";

export type Job = Schemas["Job"];

export const jobColumns: readonly Column<Job>[] = [
  { id: "state", header: "State", width: "104px", fixed: true, narrow: "lead", cell: (j) => <StateText state={jobState(j)} /> },
  { id: "id", header: "Job", width: "92px", fixed: true, narrow: "line", cell: (j) => <Id id={j.id} /> },
  { id: "lane", header: "Lane", width: "88px", narrow: "line", cell: (j) => <LaneBars lane={j.lane} /> },
  { id: "model", header: "Model", width: "minmax(112px, 1fr)", narrow: "line", cell: (j) => j.model },
  { id: "endpoint", header: "Endpoint", width: "160px", extra: true, cell: (j) => <span className="font-mono text-12">{j.endpoint}</span> },
  { id: "key", header: "Submitted by", width: "minmax(112px, 0.7fr)", extra: true, cell: (j) => submitter(j)?.name ?? missing },
  { id: "items", header: "Items", width: "minmax(176px, 1.4fr)", cell: (j) => <Items job={j} /> },
  {
    id: "tags",
    header: "Tags",
    width: "minmax(160px, 1.4fr)",
    extra: true,
    cell: (j) => <span className="text-ink-2">{tagWords(j)}</span>,
  },
  { id: "input", header: "Tokens in", width: "76px", align: "right", cell: (j) => formatAmount(started(j) ? j.usage.input_tokens : null) },
  { id: "output", header: "Out", width: "64px", align: "right", cell: (j) => formatAmount(started(j) ? j.usage.output_tokens : null) },
  {
    id: "cost",
    header: "Cost",
    width: "80px",
    align: "right",
    narrow: "side",
    cell: (j) => <Cost usd={started(j) ? j.usage.cost_usd : null} what="settled" />,
  },
  {
    id: "wait",
    header: "Waited",
    width: "84px",
    align: "right",
    extra: true,
    cell: (j) => formatDuration(between(j.created_at, j.started_at)),
  },
  { id: "duration", header: "Duration", width: "84px", align: "right", cell: (j) => formatDuration(between(j.started_at, j.finished_at)) },
  {
    id: "created",
    header: "Created",
    width: "72px",
    align: "right",
    sort: "created",
    narrow: "line",
    cell: (j) => <TimeAgo iso={j.created_at} />,
  },
];

function started(job: Job): boolean {
  return job.started_at !== null;
}

function tagWords(job: Job): string {
  const words = Object.entries(job.tags).map(([name, value]) => `${name}=${value}`);
  return words.join("  ") || missing;
}

/** One item is a number; more are a bar; the error code of the first failure stands beside. */
function Items({ job }: { job: Job }) {
  const code = job.error?.code ?? job.error_code;
  const failure = code && <span className="min-w-0 truncate font-mono text-12 text-red">{code}</span>;
  if (job.counts.total <= 1) return failure || <span className="num text-ink-3">{job.counts.total}</span>;
  return (
    <span className="flex items-center gap-2">
      <BatchBar counts={job.counts} className="w-12 shrink-0" />
      <span className="num">{formatCount(job.counts.total)}</span>
      {failure}
    </span>
  );
}
