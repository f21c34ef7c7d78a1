import { expect, test } from "vitest";
import { blocksOf, type Line, type PromptDiff, shorten, summaryOf } from "./diff";

const nothing: PromptDiff = {
  object: "prompt.diff",
  name: "p",
  from: 1,
  to: 2,
  identical: false,
  messages: [],
  config: [],
  input_schema: [],
  references: [],
};

const textOf = (line: Line | number | undefined) => (typeof line === "object" ? line.kind + line.parts.map((p) => p.text).join("") : line);

test("messages become blocks with the words that differ", () => {
  const blocks = blocksOf({
    ...nothing,
    messages: [
      { change: "same", from: 0, to: 0, role: "system", lines: [{ change: "same", text: "Hi" }] },
      {
        change: "changed",
        from: 1,
        to: 1,
        role: "user",
        lines: [
          { change: "removed", text: "Be brief." },
          { change: "added", text: "Be kind and brief." },
        ],
      },
      { change: "added", from: null, to: 2, role: "placeholder", lines: [{ change: "added", text: "history" }] },
    ],
  });
  expect(blocks.map((b) => [b.title, b.change])).toEqual([
    ["Message 1: system", "same"],
    ["Message 2: user", "changed"],
    ["Placeholder 3", "added"],
  ]);
  const added = blocks[1]?.lines[1] as Line;
  expect(added.kind).toBe("add");
  expect(added.parts.filter((p) => p.changed).map((p) => p.text)).toEqual(["kind and "]);
});

test("members of the config, and included prompts", () => {
  const blocks = blocksOf({
    ...nothing,
    config: [
      { name: "temperature", from: 0.2, to: 0.1 },
      { name: "model", from: null, to: "fast" },
    ],
    references: [{ written: "lib/tone", from: 1, to: 2 }],
  });
  expect(blocks.map((b) => b.lines.map(textOf))).toEqual([
    ["del0.2", "add0.1"],
    ['add"fast"'],
    ["dellib/tone is version 1", "addlib/tone is version 2"],
  ]);
  expect(blocks[1]?.change).toBe("added");
});

test("equal lines far from a change are left out, single ones are not", () => {
  const line = (kind: Line["kind"], text: string): Line => ({ kind, parts: [{ text, changed: false }] });
  const same = Array.from({ length: 10 }, (_, i) => line("same", String(i)));
  const out = shorten([...same, line("add", "new"), ...same.slice(0, 4)]);
  expect(out.map(textOf)).toEqual([7, "same7", "same8", "same9", "addnew", "same0", "same1", "same2", "same3"]);
  expect(shorten(same)).toEqual([10]);
});

test("what differs, in words", () => {
  expect(summaryOf(nothing)).toBeNull();
  const lines = [{ change: "added" as const, text: "x" }];
  expect(summaryOf({ ...nothing, messages: [{ change: "changed", from: 0, to: 0, role: "", lines }] })).toBe("the text");
  expect(
    summaryOf({
      ...nothing,
      messages: [{ change: "added", from: null, to: 0, role: "user", lines }],
      config: [
        { name: "a", from: null, to: 1 },
        { name: "b", from: null, to: 1 },
      ],
    }),
  ).toBe("1 message, 2 settings");
});
