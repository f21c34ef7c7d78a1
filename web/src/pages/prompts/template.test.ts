import { expect, test } from "vitest";
import { piecesOf } from "./template";

test("pieces of a template", () => {
  const kinds = piecesOf("Hi {{name}}{{#if vip}}!{{else}}.{{/if}} {{> lib/tone@2}}{{! note }}").map((p) => [p.kind, p.text]);
  expect(kinds).toEqual([
    ["text", "Hi "],
    ["value", "{{name}}"],
    ["section", "{{#if vip}}"],
    ["text", "!"],
    ["section", "{{else}}"],
    ["text", "."],
    ["section", "{{/if}}"],
    ["text", " "],
    ["partial", "{{> lib/tone@2}}"],
    ["comment", "{{! note }}"],
  ]);
});

test("literal braces and tags without an end are text", () => {
  expect(piecesOf(String.raw`a \{{b}} c`)).toEqual([{ kind: "text", text: String.raw`a \{{b}} c` }]);
  expect(piecesOf(String.raw`\\{{b}}`).map((p) => p.kind)).toEqual(["text", "value"]);
  expect(piecesOf("a {{b")).toEqual([{ kind: "text", text: "a {{b" }]);
  expect(piecesOf("")).toEqual([]);
});

test("pieces together are the template", () => {
  for (const text of ["{{a}}{{{b}}}", "{{}}", "}}{{", String.raw`\\\{{a}}{{b}}`, "{{a\n}} x"]) {
    expect(
      piecesOf(text)
        .map((p) => p.text)
        .join(""),
    ).toBe(text);
  }
});
