import { expect, test } from "vitest";
import type { Cell, Run } from "../api";
import { applyEvent, bytesOf, type Followed, noText, withDelta, withRead } from "./apply";

const cell = (n: number, state = "running", text = ""): Cell =>
  ({ n, column: n, row: 0, trial: 0, state, attempt: 1, output: { text, reasoning: "", tool_calls: [] }, marks: [] }) as unknown as Cell;
const runOf = (...cells: Cell[]): Run => ({ id: "prun_1", state: "running", cursor: "1", cells }) as unknown as Run;
const event = (type: string, data: unknown) => ({ id: "1", type, data: JSON.stringify(data) });
const followed = (run: Run): Followed => withRead(run, null);

test("deltas lengthen a text; those that are known change nothing", () => {
  const one = withDelta(noText, { kind: "text", text: "Grüße", offset: 0 });
  expect(one?.text).toBe("Grüße");
  expect(one?.bytes.text).toBe(7);
  if (!one) return;
  expect(withDelta(one, { kind: "text", text: "Grüße", offset: 0 })).toBe(one);
  expect(withDelta(one, { kind: "text", text: "e, Welt", offset: 6 })?.text).toBe("Grüße, Welt");
  expect(withDelta(one, { kind: "text", text: "!", offset: 7 })?.text).toBe("Grüße!");
});

test("a gap asks for the run", () => {
  expect(withDelta(noText, { kind: "text", text: "x", offset: 3 })).toBeNull();
  const { need } = applyEvent(followed(runOf(cell(0))), event("delta", { cell: 0, kind: "text", text: "x", offset: 3 }));
  expect(need).toBe("read");
});

test("any order of reconnects gives the same text", () => {
  const text = "A ä 😀 text that is long enough.";
  const deltas = [...text].map((c, i) => ({ cell: 0, kind: "text", text: c, offset: bytesOf([...text].slice(0, i).join("")) }));
  for (let from = 0; from < deltas.length; from++) {
    let now = followed(runOf(cell(0)));
    for (const d of deltas.slice(0, from + 3)) now = applyEvent(now, event("delta", d)).now;
    for (const d of deltas.slice(from)) now = applyEvent(now, event("delta", d)).now; // the stream repeats what the page has
    expect(now.texts.get(0)?.text).toBe(text);
  }
});

test("a cell changes its state, and keeps its text and marks", () => {
  let now = followed(runOf(cell(0), cell(1)));
  now = applyEvent(now, event("delta", { cell: 1, kind: "reasoning", text: "Hm", offset: 0 })).now;
  now = applyEvent(now, event("cell", { n: 1, state: "succeeded", attempt: 1, metrics: { cost_usd: "0.1" } })).now;
  expect(now.run.cells.map((c) => c.state)).toEqual(["running", "succeeded"]);
  expect(now.texts.get(1)?.reasoning).toBe("Hm");
  now = applyEvent(now, event("cell", { n: 1, state: "queued", attempt: 2 })).now; // it runs again
  expect(now.texts.get(1)).toEqual(noText);
});

test("the end asks for the whole run", () => {
  const { now, need } = applyEvent(followed(runOf(cell(0))), event("run", { state: "completed" }));
  expect(now.run.state).toBe("completed");
  expect(need).toBe("read");
  expect(applyEvent(now, { id: "", type: "ping", data: "{}" }).now).toEqual(now);
});

test("a read run keeps streamed text that is ahead of it, until the cell has ended", () => {
  let now = followed(runOf(cell(0)));
  now = applyEvent(now, event("delta", { cell: 0, kind: "text", text: "Hello", offset: 0 })).now;
  expect(withRead(runOf(cell(0, "running", "He")), now).texts.get(0)?.text).toBe("Hello");
  expect(withRead(runOf(cell(0, "succeeded", "Hell")), now).texts.get(0)?.text).toBe("Hell");
});

test("the answer of a call that is older than the stream does not take states back", () => {
  const stopped = { ...event("cell", { n: 0, state: "stopped", attempt: 1 }), id: "7;1.1.5.0.0" };
  const { now } = applyEvent(followed(runOf(cell(0), cell(1))), stopped);
  const late = withRead({ ...runOf(cell(0), cell(1)), cursor: "5", name: "Named" }, now);
  expect(late.run.cells.map((c) => c.state)).toEqual(["stopped", "running"]);
  expect(late.run.name).toBe("Named");
  const fresh = withRead({ ...runOf(cell(0, "stopped"), cell(1, "succeeded")), cursor: "9" }, late);
  expect(fresh.run.cells.map((c) => c.state)).toEqual(["stopped", "succeeded"]);
});
