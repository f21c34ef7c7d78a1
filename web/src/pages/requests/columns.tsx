import { ArrowRight } from "lucide-react";
import type { Schemas } from "@/api";
import { Chip } from "@/components/Chip";
import { Cost } from "@/components/Cost";
import { Id } from "@/components/Id";
import { asState, StateGlyph, StateText } from "@/components/StateGlyph";
import { Time } from "@/components/Time";
import type { Column } from "@/components/table/column";
import { between, formatAmount, formatDuration, missing } from "@/format";

export type RequestRow = Schemas["RequestSummary"];

export const requestColumns: readonly Column<RequestRow>[] = [
  { id: "time", header: "Time", width: "112px", fixed: true, narrow: "side", cell: (r) => <Time iso={r.started_at} /> },
  { id: "status", header: "Status", width: "112px", fixed: true, narrow: "lead", cell: (r) => <Status request={r} /> },
  { id: "id", header: "Request", width: "96px", extra: true, cell: (r) => <Id id={r.id} /> },
  { id: "model", header: "Model and target", width: "minmax(252px, 3fr)", narrow: "line", cell: (r) => <Route request={r} /> },
  { id: "endpoint", header: "Endpoint", width: "160px", extra: true, cell: (r) => <span className="font-mono text-12">{r.endpoint}</span> },
  { id: "key", header: "Key", width: "minmax(76px, 0.7fr)", cell: (r) => r.key || <Missing /> },
  { id: "input", header: "Tokens in", width: "60px", align: "right", cell: (r) => formatAmount(r.usage.input_tokens) },
  { id: "output", header: "Out", width: "40px", align: "right", cell: (r) => formatAmount(r.usage.output_tokens) },
  {
    id: "cost",
    header: "Cost",
    width: "68px",
    align: "right",
    narrow: "line",
    cell: (r) => <Cost usd={r.usage.cost_usd} what="settled" />,
  },
  {
    id: "first",
    header: "First token",
    width: "72px",
    align: "right",
    cell: (r) => formatDuration(between(r.started_at, r.first_token_at)),
  },
  {
    id: "duration",
    header: "Duration",
    width: "60px",
    align: "right",
    cell: (r) => formatDuration(between(r.started_at, r.finished_at)),
  },
  { id: "cache", header: "Cache", width: "44px", cell: (r) => <Cache cache={r.cache} /> },
  { id: "tags", header: "Tags", width: "minmax(80px, 1.4fr)", cell: (r) => <TagWords tags={r.tags} /> },
  { id: "subject", header: "Subject", width: "minmax(96px, 1fr)", extra: true, cell: (r) => r.subject ?? <Missing /> },
];

function Missing() {
  return <span className="text-ink-3">{missing}</span>;
}

/** A failed call shows its error code in the place of the word. */
export function Status({ request }: { request: Pick<RequestRow, "status" | "error"> }) {
  if (request.status !== "failed" || !request.error) return <StateText state={asState(request.status)} />;
  return (
    <span className="inline-flex min-w-0 items-center gap-2">
      <StateGlyph state="failed" alone />
      <span className="truncate font-mono text-12 text-red">{request.error.code}</span>
    </span>
  );
}

/** The model that was asked for, and the target that answered. */
export function Route({ request }: { request: Pick<RequestRow, "model" | "target"> }) {
  return (
    <span className="flex min-w-0 items-center gap-1.5">
      <span className="truncate">{request.model}</span>
      {request.target && (
        <>
          <ArrowRight aria-label="answered by" className="size-3.5 shrink-0 text-ink-3" strokeWidth={1.75} />
          <span className="truncate text-ink-2">{request.target}</span>
        </>
      )}
    </span>
  );
}

export function Cache({ cache }: { cache: string | null }) {
  return cache ? <Chip hue="green">{cache}</Chip> : <Missing />;
}

function TagWords({ tags }: { tags: Record<string, string> }) {
  const words = Object.entries(tags).map(([name, value]) => `${name}=${value}`);
  if (words.length === 0) return <Missing />;
  return (
    <span title={words.join("\n")} className="text-12 text-ink-2">
      {words.join("  ")}
    </span>
  );
}

export function Tags({ tags }: { tags: Record<string, string> }) {
  const entries = Object.entries(tags);
  if (entries.length === 0) return <Missing />;
  return (
    <span className="flex min-w-0 flex-wrap gap-1 py-1">
      {entries.map(([name, value]) => (
        <Chip key={name}>
          <span className="truncate" title={`${name}=${value}`}>
            {name}={value}
          </span>
        </Chip>
      ))}
    </span>
  );
}
