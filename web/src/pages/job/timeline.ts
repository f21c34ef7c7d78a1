import type { Schemas } from "@/api";
import type { TimelineRow } from "@/components/Timeline";
import { formatDuration, plural } from "@/format";
import { type Attempt, hasEnded, type Item, type Job } from "./job";

type Delivery = Schemas["Delivery"];

export interface Waterfall {
  rows: TimelineRow[];
  total: number;
}

/** The waterfall of a job: admitted, queued, its attempts with the back-offs between them, its deliveries. Many items show as one. */
export function waterfallOf(job: Job, item: Item | undefined, deliveries: readonly Delivery[], now: number): Waterfall {
  const zero = Date.parse(job.created_at);
  const at = (iso: string) => Math.max(0, Date.parse(iso) - zero);
  const end = hasEnded(job) && job.finished_at ? at(job.finished_at) : Math.max(1, now - zero);
  const attempts = (item?.history ?? []).filter((a) => a.started_at !== null);
  const begun = attempts[0]?.started_at ?? job.started_at;
  const rows: TimelineRow[] = [
    { id: "admit", name: "Admit", note: "limits, budget, targets", from: 0, to: 0, kind: "working", took: "accepted" },
    {
      id: "queue",
      name: "Queue",
      note: `${job.lane} lane`,
      from: 0,
      to: begun ? at(begun) : hasEnded(job) ? end : undefined,
      kind: "waiting",
    },
  ];
  if (item) addAttempts(rows, attempts, at, end);
  if (item?.status === "running" && attempts.every((a) => a.finished_at !== null)) {
    rows.push(runningAttempt(attempts, at, job.started_at ?? job.created_at));
  }
  if (!item && job.started_at) rows.push(work(job, at));
  const told = deliveries.map((d) => deliverRow(d, at, Math.max(end, now - zero)));
  const total = Math.max(end, ...told.map((r) => Math.min(r.to ?? end, 2 * end)));
  for (const row of told.reverse()) rows.push({ ...row, from: Math.min(row.from, total), to: row.to && Math.min(row.to, total) });
  return { rows, total };
}

/** A delivery, until it was accepted or its last attempt ended. One that is retried for hours does not stretch the waterfall. */
function deliverRow(d: Delivery, at: (iso: string) => number, now: number): TimelineRow {
  const last = d.history.at(-1);
  const from = at(d.created_at);
  const to = d.delivered_at ? at(d.delivered_at) : last && d.status === "failed" ? at(last.at) + last.duration_ms : now;
  const kind = d.status === "delivered" ? "checked" : d.status === "failed" ? "failed" : "waiting";
  return { id: d.id, name: "Deliver", note: d.type, from, to, kind, took: formatDuration(to - from) };
}

function work(job: Job, at: (iso: string) => number): TimelineRow {
  const { failed, expired } = job.counts;
  return {
    id: "work",
    name: "Work",
    note: plural(job.counts.total, "item"),
    from: at(job.started_at ?? job.created_at),
    to: job.finished_at ? at(job.finished_at) : undefined,
    kind: job.status === "failed" ? "failed" : "working",
    label: failed + expired > 0 ? `${plural(failed + expired, "item")} failed or expired` : undefined,
  };
}

function addAttempts(rows: TimelineRow[], attempts: readonly Attempt[], at: (iso: string) => number, end: number): void {
  let last: number | undefined;
  for (const a of attempts) {
    const from = at(a.started_at ?? "");
    if (last !== undefined && from > last) rows.push({ id: `${a.id}-wait`, name: "Back-off", from: last, to: from, kind: "backoff" });
    const to = a.finished_at ? at(a.finished_at) : undefined;
    rows.push(attemptRow(a, from, to, at));
    last = to ?? end;
  }
}

/** The attempt that runs: the server lists attempts once they have ended. Where it begins is known for the first one only. */
function runningAttempt(ended: readonly Attempt[], at: (iso: string) => number, start: string): TimelineRow {
  const from = at(ended.at(-1)?.finished_at ?? start);
  return { id: "running", name: `Attempt ${ended.length + 1}`, note: "runs, or waits for its start", from, kind: "working" };
}

function attemptRow(a: Attempt, from: number, to: number | undefined, at: (iso: string) => number): TimelineRow {
  const first = a.first_token_at ? at(a.first_token_at) : undefined;
  const failed = a.error_kind !== null;
  return {
    id: a.id,
    name: `Attempt ${a.number}`,
    note: a.target ?? "no target",
    from,
    to,
    kind: failed ? "failed" : "working",
    first: failed ? undefined : first,
    label: failed ? errorWords(a) : first === undefined ? undefined : `first token ${formatDuration(first - from)}`,
  };
}

/** `503 overloaded`: the status of the upstream and the kind of its error. */
export function errorWords(a: Attempt): string {
  return [a.status_code, a.error_kind].filter(Boolean).join(" ");
}
