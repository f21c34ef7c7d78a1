import { expect, test } from "vitest";
import { boundsOf, parseRange, rangeText, validRange } from "./range";

const now = Date.parse("2026-11-17T14:32:07Z");

test("a preset starts at a whole minute", () => {
  expect(boundsOf("1h", now)).toEqual({ from: "2026-11-17T13:32:00.000Z" });
  expect(boundsOf("all", now)).toEqual({});
});

test("an absolute range has both times", () => {
  const range = rangeText("2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z");
  expect(boundsOf(range, now)).toEqual({ from: "2026-11-01T00:00:00Z", to: "2026-11-02T00:00:00Z" });
  expect(parseRange("yesterday..today")).toBeNull();
});

test("nonsense falls back", () => {
  expect(validRange("12x", "24h")).toBe("24h");
  expect(validRange(undefined, "24h")).toBe("24h");
  expect(validRange("7d", "24h")).toBe("7d");
});
