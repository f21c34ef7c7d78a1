import { expect, test } from "vitest";
import { formatRate, latencyChange, type Overview, rateIn, successChange, traffic } from "./figures";

test("the last step counts for the time that it has lasted", () => {
  const point = (at: string, succeeded: number) => ({
    at,
    succeeded,
    failed: 0,
    jobs: 0,
    requests: 0,
    depth: 0,
    p50_ms: null,
    p95_ms: null,
  });
  const overview = {
    step_seconds: 900,
    as_of: "2026-11-17T10:20:00Z",
    lanes: [{ lane: "realtime", points: [point("2026-11-17T10:00:00Z", 150), point("2026-11-17T10:15:00Z", 50)] }],
  } as unknown as Overview;
  expect(traffic(overview).series[0]?.values).toEqual([10, 10]);
});

test("worse changes are coloured", () => {
  expect(successChange({ value: 0.98, previous: 0.99, series: [] })).toEqual({ text: "−1.0 pt", tone: "bad" });
  expect(successChange({ value: 0.989, previous: 0.99, series: [] })).toEqual({ text: "−0.10 pt", tone: "plain" });
  expect(latencyChange({ value: 600, previous: 500, series: [] })).toEqual({ text: "+100 ms", tone: "warn" });
  expect(latencyChange({ value: 500, previous: null, series: [] })).toBeUndefined();
});

test("rates", () => {
  expect([formatRate(1284.4), formatRate(12.41), formatRate(0.45), formatRate(0), formatRate(null)]).toEqual([
    "1,284",
    "12.4",
    "0.45",
    "0",
    "–",
  ]);
  expect(rateIn(2)).toEqual({ value: "120", unit: "/min" });
  expect(rateIn(0.005)).toEqual({ value: "18", unit: "/h" });
  expect(rateIn(0)).toEqual({ value: "0", unit: "/min" });
  expect(rateIn(null)).toEqual({ value: "–", unit: "/min" });
});
