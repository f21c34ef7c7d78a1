import { expect, test } from "vitest";
import { daysOf, draggedDays, eachDay, parseDays, validDays } from "./days";

const now = Date.parse("2026-11-17T14:00:00Z");

test("presets are whole days of UTC", () => {
  expect(daysOf("month", now)).toEqual({ from: "2026-11-01", to: "2026-11-17" });
  expect(daysOf("last_month", now)).toEqual({ from: "2026-10-01", to: "2026-10-31" });
  expect(daysOf("last_month", Date.parse("2026-01-05T00:00:00Z"))).toEqual({ from: "2025-12-01", to: "2025-12-31" });
  expect(daysOf("7d", now)).toEqual({ from: "2026-11-11", to: "2026-11-17" });
  expect(daysOf("2026-10-30..2026-11-02", now)).toEqual({ from: "2026-10-30", to: "2026-11-02" });
});

test("only days and presets are a range", () => {
  expect(validDays("24h")).toBeUndefined();
  expect(validDays("30d")).toBe("30d");
  expect(parseDays("2026-11-02..2026-10-30")).toBeNull();
  expect(parseDays("2026-11-01T00:00:00Z..2026-11-02T00:00:00Z")).toBeNull();
});

test("each day once, also over the end of a month", () => {
  expect(eachDay({ from: "2026-10-30", to: "2026-11-01" })).toEqual(["2026-10-30", "2026-10-31", "2026-11-01"]);
});

test("a drag takes the days whose bars it touches", () => {
  const at = (text: string) => Date.parse(text) / 1000;
  expect(draggedDays(at("2026-11-03T20:00:00Z"), at("2026-11-06T05:00:00Z"))).toBe("2026-11-04..2026-11-06");
});
