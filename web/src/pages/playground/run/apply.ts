import type { ServerEvent } from "@/live";
import type { Cell, Run } from "../api";

/** What of a cell arrives as deltas, with the number of its bytes. */
export interface LiveText {
  text: string;
  reasoning: string;
  toolArguments: string;
  /** Bytes of each in UTF-8, because the offsets of the server count bytes. */
  bytes: { text: number; reasoning: number; toolArguments: number };
}

const kinds = { text: "text", reasoning: "reasoning", tool_arguments: "toolArguments" } as const;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function bytesOf(text: string): number {
  return encoder.encode(text).length;
}

export const noText: LiveText = { text: "", reasoning: "", toolArguments: "", bytes: { text: 0, reasoning: 0, toolArguments: 0 } };

export function liveTextOf(cell: Cell): LiveText {
  const { text, reasoning } = cell.output;
  return { text, reasoning, toolArguments: "", bytes: { text: bytesOf(text), reasoning: bytesOf(reasoning), toolArguments: 0 } };
}

interface Delta {
  cell: number;
  kind: keyof typeof kinds;
  text: string;
  offset: number;
}

/** Text with a delta. A delta that is known already changes nothing; null: text before it is missing. */
export function withDelta(live: LiveText, delta: Pick<Delta, "kind" | "text" | "offset">): LiveText | null {
  const kind = kinds[delta.kind];
  const have = live.bytes[kind];
  if (delta.offset > have) return null;
  const bytes = encoder.encode(delta.text);
  const known = have - delta.offset;
  if (known >= bytes.length) return live;
  const fresh = known === 0 ? delta.text : decoder.decode(bytes.subarray(known));
  return { ...live, [kind]: live[kind] + fresh, bytes: { ...live.bytes, [kind]: have + bytes.length - known } };
}

/** A run as the page follows it. */
export interface Followed {
  run: Run;
  texts: ReadonlyMap<number, LiveText>;
  /** The number of the last change that is in it. */
  seq: number;
}

/** The number of the last change in a position of the server: a cursor of a run, or the id of an event. */
export function seqOf(position: string): number {
  return Number.parseInt(position, 10) || 0;
}

/** What an event asks of the page beside the change: to read the run again, because something is missing or it ended. */
export type Need = "nothing" | "read";

/** Applies an event of the stream. The state of cells comes whole; their text comes as deltas. */
export function applyEvent(before: Followed, event: ServerEvent): { now: Followed; need: Need } {
  const now = { ...before, seq: Math.max(before.seq, seqOf(event.id)) };
  if (event.type === "delta") return applyDelta(now, JSON.parse(event.data) as Delta);
  if (event.type === "cell") return { now: applyCell(now, JSON.parse(event.data) as Cell), need: "nothing" };
  if (event.type === "run") return { now: { ...now, run: { ...now.run, ...(JSON.parse(event.data) as Partial<Run>) } }, need: "read" };
  return { now, need: "nothing" };
}

function applyDelta(now: Followed, delta: Delta): { now: Followed; need: Need } {
  const old = now.texts.get(delta.cell) ?? noText;
  const live = withDelta(old, delta);
  if (live === null) return { now, need: "read" };
  if (live === old) return { now, need: "nothing" };
  return { now: { ...now, texts: new Map(now.texts).set(delta.cell, live) }, need: "nothing" };
}

function applyCell(now: Followed, cell: Cell): Followed {
  const old = now.run.cells.find((c) => c.n === cell.n);
  const again = old !== undefined && cell.attempt > old.attempt; // its output begins anew
  const cells = now.run.cells.map((c) => (c.n === cell.n ? { ...c, ...cell, output: again ? noOutput : c.output, marks: c.marks } : c));
  const texts = again ? new Map(now.texts).set(cell.n, noText) : now.texts;
  return { ...now, run: { ...now.run, cells }, texts };
}

const noOutput: Cell["output"] = { text: "", reasoning: "", tool_calls: [] };

/**
 * A run that was read whole. The stream may be ahead of the answer of a call: then the cells stay as they are, and only the rest of the run
 * is taken over. Texts are the longer of the read and the streamed ones.
 */
export function withRead(run: Run, known: Followed | null): Followed {
  const before = known?.run.id === run.id ? known : null;
  const seq = seqOf(run.cursor);
  if (before && seq < before.seq) {
    const { cells, state, counts, finished_at } = before.run;
    return { ...before, run: { ...run, cells, state, counts, finished_at } };
  }
  const texts = new Map<number, LiveText>();
  for (const cell of run.cells) {
    const read = liveTextOf(cell);
    const old = before?.texts.get(cell.n);
    const ended = cell.state !== "running" && cell.state !== "queued";
    texts.set(
      cell.n,
      !old || ended || read.bytes.text >= old.bytes.text ? { ...read, toolArguments: ended ? "" : (old?.toolArguments ?? "") } : old,
    );
  }
  return { run, texts, seq };
}
