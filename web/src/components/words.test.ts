import { expect, test } from "vitest";
import { diffWords } from "./words";

const changed = (parts: { text: string; changed: boolean }[]) => parts.filter((p) => p.changed).map((p) => p.text);
const whole = (parts: { text: string }[]) => parts.map((p) => p.text).join("");

test("the words that differ", () => {
  const { before, after } = diffWords("You answer as {{brand}}. Be brief.", "You answer as {{brand}}. Be kind and brief.");
  expect(changed(before)).toEqual([]);
  expect(changed(after)).toEqual(["kind and "]);
  expect([whole(before), whole(after)]).toEqual(["You answer as {{brand}}. Be brief.", "You answer as {{brand}}. Be kind and brief."]);
});

test("other lines have no marks", () => {
  const { before, after } = diffWords("Answer the question.", "Never mention prices!");
  expect([changed(before), changed(after)]).toEqual([[], []]);
});

test("long lines stay whole", () => {
  const long = "word ".repeat(1000);
  const { after } = diffWords(long, `${long}end`);
  expect(after).toEqual([{ text: `${long}end`, changed: false }]);
});

test("empty lines", () => {
  expect(diffWords("", "x").after).toEqual([{ text: "x", changed: false }]);
  expect(whole(diffWords("x", "").before)).toBe("x");
});
