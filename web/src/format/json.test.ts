import { expect, test } from "vitest";
import { prettyJson } from "./json";

test("values stay as they were spelled", () => {
  expect(prettyJson('{"id":9007199254740993,"list":[1.50,"a,b:{"],"none":{},"empty":[]}')).toBe(
    '{\n  "id": 9007199254740993,\n  "list": [\n    1.50,\n    "a,b:{"\n  ],\n  "none": {},\n  "empty": []\n}',
  );
  expect(prettyJson('"a \\" b"')).toBe('"a \\" b"');
});
