import type { TimelineRow } from "@/components/Timeline";
import { formatDuration } from "@/format";
import { type Attempt, attemptState } from "./attempt";

interface Call {
  started_at: string;
  finished_at: string;
  cache: string | null;
  history: readonly Attempt[];
}

const shownGapMs = 1; // shorter waits are the work of the server itself

/** The rows of a call's timeline: the wait before the first attempt, the attempts, and the waits between them. */
export function timelineOf(call: Call): { rows: TimelineRow[]; total: number } {
  const start = Date.parse(call.started_at);
  const at = (iso: string) => Math.max(0, Date.parse(iso) - start);
  const total = Math.max(1, at(call.finished_at));
  const rows: TimelineRow[] = [];
  let last = 0;
  for (const a of call.history) {
    if (!a.started_at) continue;
    const from = at(a.started_at);
    if (rows.length === 0) rows.push({ id: "admit", name: "Admit", note: "limits, budget, route", from: 0, to: from, kind: "waiting" });
    else if (from - last >= shownGapMs)
      rows.push({ id: `wait-${a.number}`, name: "Back-off", note: "before the next target", from: last, to: from, kind: "backoff" });
    const to = a.finished_at ? at(a.finished_at) : total;
    rows.push(attemptRow(a, from, to, a.first_token_at ? at(a.first_token_at) : undefined));
    last = to;
  }
  return { rows, total };
}

function attemptRow(a: Attempt, from: number, to: number, first: number | undefined): TimelineRow {
  const failed = attemptState(a) === "failed";
  const label = failed
    ? [a.status_code, a.error_kind].filter(Boolean).join(" ")
    : first === undefined
      ? undefined
      : `first token ${formatDuration(first - from)}`;
  return {
    id: a.id,
    name: `Attempt ${a.number}`,
    note: a.target ?? "no target",
    from,
    to,
    kind: failed ? "failed" : "working",
    ...(first === undefined || failed ? {} : { first }),
    label,
  };
}
