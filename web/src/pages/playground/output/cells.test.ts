import { expect, test } from "vitest";
import type { Cell, Run } from "../api";
import { cellAt, cellWord, lastSentence, progressOf } from "./cells";

const cell = (n: number, column: number, row: number, state = "succeeded") => ({ n, column, row, trial: 0, state }) as unknown as Cell;
const run = { cells: [cell(0, 0, 0), cell(1, 0, 1, "running"), cell(2, 1, 0, "queued"), cell(3, 1, 1, "failed")] } as unknown as Run;

test("the cell of a place", () => {
  expect(cellAt(run, 1, 1, 0)?.n).toBe(3);
  expect(cellAt(run, 1, 1, 1)).toBeUndefined();
  expect(cellAt(run, null, 0, 0)).toBeUndefined();
  expect(cellAt(null, 0, 0, 0)).toBeUndefined();
});

test("the progress of a column", () => {
  expect(progressOf(run, 0)).toEqual({ all: 2, ended: 1, open: true });
  expect(progressOf(run, null)).toEqual({ all: 0, ended: 0, open: false });
});

test("words of a cell", () => {
  expect(cellWord(cell(0, 0, 0, "running"), false)).toBe("Waiting");
  expect(cellWord(cell(0, 0, 0, "running"), true)).toBe("Streaming");
});

test("the last sentence that is complete", () => {
  expect(lastSentence("One. Two! Thr")).toBe("Two!");
  expect(lastSentence("One.")).toBe("");
  expect(lastSentence("Head\nOne. ")).toBe("One.");
});
