import type { Schemas } from "@/api";
import type { State } from "@/components/StateGlyph";
import { formatCount, formatPercent, shortId, threeFigures } from "@/format";

export type Batch = Schemas["BatchProgress"];
export type Counts = Schemas["Counts"];

/** The words for the API that a batch came by. */
export const dialectWords: Record<string, string> = { openai: "OpenAI", anthropic: "Anthropic", native: "Job over a file" };

const nameKeys = ["name", "source", "description", "title"];

/** The name that the metadata give a batch, or the tail of its id. */
export function batchName(b: Pick<Batch, "batch_id" | "metadata">): string {
  for (const key of nameKeys) if (b.metadata[key]) return b.metadata[key];
  return shortId(b.batch_id);
}

export function isRefused(b: Pick<Batch, "errors">): boolean {
  return b.errors.length > 0;
}

/** Items that have not ended. */
export function openItems(c: Counts): number {
  return c.queued + c.running;
}

export function isOpen(b: Pick<Batch, "finished_at" | "errors">): boolean {
  return b.finished_at === null && !isRefused(b);
}

/** Items that a retry runs again. */
export function unsuccessful(c: Counts): number {
  return c.failed + c.expired + c.cancelled;
}

/** The state of a batch, with the word for it where the state has another. */
export function batchState(b: Batch): { state: State; word?: string } {
  const { counts: c } = b;
  if (isRefused(b)) return { state: "failed", word: "Refused" };
  if (isOpen(b)) {
    if (b.cancel_requested_at) return { state: "cancelled", word: "Cancelling" };
    if (b.waiting_on === "paused" && c.running === 0) return { state: "paused" };
    return { state: c.total > c.queued ? "running" : "queued" };
  }
  if (c.cancelled > 0) return { state: "cancelled" };
  if (c.expired > 0) return { state: "expired" };
  if (c.failed === 0) return { state: "succeeded" };
  return { state: c.succeeded > 0 ? "mixed" : "failed" };
}

const waits: Record<Schemas["Reason"], string> = {
  paused: "paused by an operator",
  budget: "a hard budget has too little left",
  workers: "no worker runs",
  capacity: "every target is at its capacity",
  rate_limit: "every target is at its rate limit",
  provider: "every target fails",
  retry: "the next attempt is not due",
};

/** Why queued items do not start. */
export function waitWords(reason: Schemas["Reason"] | null): string | null {
  return reason && waits[reason];
}

/** `62% done`, `0.4% failed`. */
export function shareWords(c: Counts): { text: string; bad: boolean }[] {
  const total = Math.max(1, c.total);
  const words = [{ text: `${formatPercent((c.total - openItems(c)) / total)} done`, bad: false }];
  if (c.failed > 0) words.push({ text: `${formatPercent(c.failed / total)} failed`, bad: true });
  return words;
}

/** `53 /s`, `0.28 /s`. */
export function itemRate(perSecond: number | null): string {
  if (perSecond === null) return "–";
  return `${perSecond >= 100 ? formatCount(perSecond) : threeFigures(perSecond)} /s`;
}

export type Dialect = "openai" | "anthropic" | "native";

/** The path of the batch in its own API. */
export function ownPath(b: Pick<Batch, "batch_id" | "dialect">): string {
  const base = { openai: "/v1/batches/", anthropic: "/v1/messages/batches/", native: "/v1/jobs/" }[b.dialect as Dialect] ?? "/v1/jobs/";
  return base + b.batch_id;
}
