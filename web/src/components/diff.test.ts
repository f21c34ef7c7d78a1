import { expect, test } from "vitest";
import { diffLines } from "./diff";

const print = (before: string, after: string) =>
  diffLines(before, after)
    .map((l) => `${l.kind === "add" ? "+" : l.kind === "del" ? "-" : " "}${l.text}`)
    .join("\n");

test("lines are added, removed and kept", () => {
  expect(print("a\nb\nc", "a\nx\nc\nd")).toBe(" a\n-b\n+x\n c\n+d");
  expect(print("", "a")).toBe("+a");
  expect(print("a", "")).toBe("-a");
  expect(print("a\nb", "a\nb")).toBe(" a\n b");
});

test("either text can be read back", () => {
  const before = "one\ntwo\nthree\nfour\ntwo";
  const after = "two\nthree\nfive\none\ntwo";
  const lines = diffLines(before, after);
  const side = (not: string) =>
    lines
      .filter((l) => l.kind !== not)
      .map((l) => l.text)
      .join("\n");
  expect(side("add")).toBe(before);
  expect(side("del")).toBe(after);
});
