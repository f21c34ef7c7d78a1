import { expect, test } from "vitest";
import { dimensionsAfter, filterFor, isDimension, type Line, tagNames, valueIn } from "./dimension";

const sums = { requests: 1, input_tokens: 1, cached_input_tokens: 0, output_tokens: 1, cost_usd: "0.1", forfeit_usd: "0" };
const line: Line = { ...sums, model: "fast", key: "", tags: { team: "search", feature: "chat" } };

test("a line has a value in each dimension", () => {
  expect(valueIn(line, "model")).toBe("fast");
  expect(valueIn(line, "tag:team")).toBe("search");
  expect(valueIn(line, "tag:customer")).toBe("");
  expect(valueIn(line, "tag")).toBe("team:search feature:chat");
});

test("a value becomes a filter where the API can filter by it", () => {
  expect(filterFor(line, "model")).toEqual({ model: "fast" });
  expect(filterFor(line, "tag:team")).toEqual({ tag: "team:search" });
  expect(filterFor(line, "key")).toBeNull();
  expect(filterFor(line, "tag")).toBeNull();
  expect(filterFor({ ...line, tags: { team: "search" } }, "tag")).toEqual({ tag: "team:search" });
  expect(filterFor({ ...sums, other: true }, "model")).toBeNull();
});

test("a drill-down goes to the next dimension", () => {
  expect(dimensionsAfter(["model"], "model", false)).toEqual(["key"]);
  expect(dimensionsAfter(["model", "key"], "model", false)).toEqual(["key"]);
  expect(dimensionsAfter(["tenant"], "tenant", true)).toEqual(["model"]);
  expect(dimensionsAfter(["tag:team"], "tag:team", false)).toEqual(["lane"]);
  expect(dimensionsAfter(["lane"], "lane", false)).toEqual(["model"]);
});

test("dimensions and names of tags", () => {
  expect(isDimension("tag:team")).toBe(true);
  expect(isDimension("tag:")).toBe(false);
  expect(isDimension("constructor")).toBe(false);
  expect(tagNames([line, { ...sums, tags: { team: "x" } }])).toEqual(["team", "feature"]);
});
