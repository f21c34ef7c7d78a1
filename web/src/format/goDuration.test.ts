import { expect, test } from "vitest";
import { durationForApi, durationMs, formatGoDuration } from "./goDuration";

test("durations of the API and of people", () => {
  expect(durationMs("1m30s")).toBe(90_000);
  expect(durationMs("30 d")).toBe(30 * 86_400_000);
  expect(durationMs("soon")).toBeNull();
  expect(durationMs("")).toBeNull();
  expect(durationForApi("30d")).toBe("720h");
  expect(durationForApi("1d12h")).toBe("24h12h");
  expect(durationForApi("5 minutes")).toBeNull();
});

test("a duration shows its largest whole unit", () => {
  expect(formatGoDuration("1440h")).toBe("60 d");
  expect(formatGoDuration("36h")).toBe("36 h");
  expect(formatGoDuration("1m30s")).toBe("90 s");
  expect(formatGoDuration("250ms")).toBe("250 ms");
  expect(formatGoDuration(null)).toBeNull();
});
