import { BatchBar } from "@/components/BatchBar";
import { Cost } from "@/components/Cost";
import { Id } from "@/components/Id";
import { LaneBars } from "@/components/LaneBars";
import { StateText } from "@/components/StateGlyph";
import { TimeAgo } from "@/components/Time";
import { Tip } from "@/components/Tooltip";
import type { Column } from "@/components/table/column";
import { formatAmount, formatCount, formatPercent, missing, shortId } from "@/format";
import { type Batch, batchName, batchState, dialectWords, isRefused, itemRate, openItems } from "./batch";
import { Eta } from "./Eta";

export const batchColumns: readonly Column<Batch>[] = [
  { id: "state", header: "State", width: "100px", fixed: true, narrow: "lead", cell: (b) => <StateText {...batchState(b)} /> },
  { id: "batch", header: "Batch", width: "minmax(150px, 1.3fr)", fixed: true, narrow: "line", cell: (b) => <Name batch={b} /> },
  { id: "dialect", header: "API", width: "68px", cell: (b) => (b.dialect === "native" ? "Jobs" : dialectWords[b.dialect]) },
  { id: "model", header: "Model", width: "minmax(100px, 1fr)", cell: (b) => <Model batch={b} /> },
  { id: "lane", header: "Lane", width: "88px", extra: true, cell: (b) => (b.lane ? <LaneBars lane={b.lane} /> : missing) },
  { id: "endpoint", header: "Endpoint", width: "160px", extra: true, cell: (b) => <span className="font-mono text-12">{b.endpoint}</span> },
  { id: "progress", header: "Progress", width: "minmax(120px, 1.4fr)", narrow: "side", cell: (b) => <Progress batch={b} /> },
  { id: "items", header: "Items", width: "76px", align: "right", cell: (b) => (isRefused(b) ? missing : formatCount(b.counts.total)) },
  { id: "failed", header: "Failed", width: "60px", align: "right", cell: (b) => <Failed batch={b} /> },
  { id: "rate", header: "Rate", width: "76px", align: "right", cell: (b) => itemRate(b.items_per_second) },
  {
    id: "eta",
    header: "ETA or took",
    width: "96px",
    align: "right",
    narrow: "line",
    cell: (b) => (isRefused(b) ? missing : <Eta batch={b} />),
  },
  {
    id: "tokens",
    header: "Tokens",
    width: "84px",
    align: "right",
    extra: true,
    cell: (b) => formatAmount(b.usage.input_tokens + b.usage.output_tokens),
  },
  {
    id: "cost",
    header: "Cost",
    width: "76px",
    align: "right",
    cell: (b) => (isRefused(b) ? missing : <Cost usd={b.usage.cost_usd} what="settled" />),
  },
  { id: "created", header: "Created", width: "64px", align: "right", narrow: "line", cell: (b) => <TimeAgo iso={b.created_at} /> },
];

/** The name, with the id on hover; a batch without a name shows its id. */
function Name({ batch: b }: { batch: Batch }) {
  const name = batchName(b);
  if (name === shortId(b.batch_id)) return <Id id={b.batch_id} />;
  return (
    <Tip text={<span className="font-mono">{b.batch_id}</span>}>
      <span className="font-medium">{name}</span>
    </Tip>
  );
}

function Model({ batch: b }: { batch: Batch }) {
  const more = b.jobs.length - 1;
  return (
    <>
      {b.model ?? missing}
      {more > 0 && <span className="text-ink-3"> + {more}</span>}
    </>
  );
}

function Progress({ batch: b }: { batch: Batch }) {
  if (isRefused(b)) return <span className="text-red">{b.errors[0]?.message}</span>;
  const done = (b.counts.total - openItems(b.counts)) / Math.max(1, b.counts.total);
  return (
    <span className="flex items-center gap-2">
      <BatchBar counts={b.counts} className="min-w-16 flex-1" />
      <span className="num w-11 text-right text-12 text-ink-2">{formatPercent(done)}</span>
    </span>
  );
}

function Failed({ batch: b }: { batch: Batch }) {
  if (isRefused(b)) return missing;
  return <span className={b.counts.failed > 0 ? "text-red" : "text-ink-3"}>{formatCount(b.counts.failed)}</span>;
}
