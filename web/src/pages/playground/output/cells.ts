import type { State } from "@/components/StateGlyph";
import type { Cell, Run } from "../api";

/** The cell of a column, a row and a trial. */
export function cellAt(run: Run | null, column: number | null, row: number, trial: number): Cell | undefined {
  if (!run || column === null) return undefined;
  return run.cells.find((c) => c.column === column && c.row === row && c.trial === trial);
}

/** The glyph of a cell. */
export const cellStates: Record<Cell["state"], State> = {
  queued: "queued",
  running: "running",
  succeeded: "succeeded",
  failed: "failed",
  stopped: "cancelled",
  interrupted: "expired",
};

/** The words of a cell: a stream is running text, not a state of work. */
export function cellWord(cell: Cell, hasText: boolean): string {
  switch (cell.state) {
    case "queued":
      return "Queued";
    case "running":
      return hasText ? "Streaming" : "Waiting";
    case "succeeded":
      return "Done";
    case "failed":
      return "Failed";
    case "stopped":
      return "Stopped";
    case "interrupted":
      return "Interrupted";
  }
}

export function isOpen(cell: Pick<Cell, "state">): boolean {
  return cell.state === "queued" || cell.state === "running";
}

/** How far the cells of a column are. */
export function progressOf(run: Run | null, column: number | null): { all: number; ended: number; open: boolean } {
  const cells = run && column !== null ? run.cells.filter((c) => c.column === column) : [];
  const open = cells.filter(isOpen).length;
  return { all: cells.length, ended: cells.length - open, open: open > 0 };
}

/** The last complete sentence of a text, for screen readers: a stream is announced by the sentence. */
export function lastSentence(text: string): string {
  const ends = [...text.matchAll(/[.!?]\s|\n/g)].map((m) => m.index + 1);
  const end = ends.at(-1);
  if (end === undefined) return "";
  return text.slice(ends.at(-2) ?? 0, end).trim();
}
