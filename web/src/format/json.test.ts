import { expect, test } from "vitest";
import { indentJson } from "./json";

test("indents without a change of values", () => {
  const text = '{"n":9007199254740993,"s":"a, {b}: \\"c\\"","list":[1, 2.50],"empty":{},"none":[]}';
  expect(indentJson(text)).toBe(
    [
      "{",
      '  "n": 9007199254740993,',
      '  "s": "a, {b}: \\"c\\"",',
      '  "list": [',
      "    1,",
      "    2.50",
      "  ],",
      '  "empty": {},',
      '  "none": []',
      "}",
    ].join("\n"),
  );
  expect(JSON.parse(indentJson(text))).toEqual(JSON.parse(text));
});

test("leaves other text alone", () => expect(indentJson("{ not json")).toBe("{ not json"));
