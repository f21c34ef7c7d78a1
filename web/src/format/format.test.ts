import { describe, expect, test } from "vitest";
import {
  addCosts,
  costShare,
  exactCost,
  formatAge,
  formatAmount,
  formatBytes,
  formatChange,
  formatCost,
  formatCount,
  formatDate,
  formatDuration,
  formatPercent,
  formatPoints,
  formatRate,
  formatTime,
  plural,
  shortId,
  splitId,
} from ".";

describe("numbers", () => {
  test.each([
    [1204880, "1,204,880"],
    [0, "0"],
    [null, "–"],
    [undefined, "–"],
  ])("count %s is %s", (n, text) => expect(formatCount(n)).toBe(text));

  test.each([
    [71_400_000, "71.4 M"],
    [398_000_000, "398 M"],
    [9_020_000, "9.02 M"],
    [88_214, "88,214"],
    [2_000_000_000, "2.00 B"],
    [null, "–"],
  ])("amount %s is %s", (n, text) => expect(formatAmount(n)).toBe(text));

  test.each([
    [0.61, "61%"],
    [0.9961, "99.61%"],
    [0.0681, "6.8%"],
    [0.0002, "0.02%"],
    [0, "0%"],
    [1, "100%"],
    [Number.NaN, "–"],
  ])("share %s is %s", (n, text) => expect(formatPercent(n)).toBe(text));

  test("points", () => {
    expect(formatPoints(-0.045)).toBe("−4.5 pt");
    expect(formatPoints(0.0003)).toBe("+0.03 pt");
    expect(formatPoints(null)).toBe("–");
  });

  test("change", () => {
    expect(formatChange(106.2, 100)).toBe("+6.2%");
    expect(formatChange(96, 100)).toBe("−4.0%");
    expect(formatChange(1, 0)).toBeNull();
  });

  test("bytes", () => {
    expect(formatBytes(999)).toBe("999 B");
    expect(formatBytes(1_400_000)).toBe("1.40 MB");
  });

  test("plural", () => {
    expect(plural(1, "item")).toBe("1 item");
    expect(plural(1204880, "item")).toBe("1,204,880 items");
    expect(plural(2, "batch", "batches")).toBe("2 batches");
  });
});

test.each([
  [4, "4 ms"],
  [620, "0.62 s"],
  [6200, "6.20 s"],
  [31_400, "31.4 s"],
  [59_999, "59.9 s"],
  [60_000, "1 m 00 s"],
  [2_468_000, "41 m 08 s"],
  [18_720_000, "5 h 12 m"],
  [86_400_000, "24 h 00 m"],
  [4 * 86_400_000, "4 d 00 h"],
  [-1500, "−1.50 s"],
  [null, "–"],
])("duration %s is %s", (ms, text) => expect(formatDuration(ms)).toBe(text));

describe("costs", () => {
  test.each([
    ["392.400000000", "$392.40"],
    ["0.008585000", "$0.0086"],
    ["0.000072000", "$0.000072"],
    ["0.000000004", "$0.000000004"],
    ["0.000999900", "$0.0010"],
    ["0.000000000", "$0.00"],
    ["0.100000000", "$0.10"],
    ["0.099999999", "$0.1000"],
    ["1204880.125000000", "$1,204,880.13"],
    ["-2.500000000", "−$2.50"],
    ["9007199254740993.010000000", "$9,007,199,254,740,993.01"],
    [null, "–"],
  ])("%s is %s", (usd, text) => expect(formatCost(usd)).toBe(text));

  test("sum", () => {
    expect(addCosts([])).toBe("0.000000000");
    expect(addCosts(["0.1", "0.2", "9007199254740993.010000000"])).toBe("9007199254740993.310000000");
    expect(addCosts(["1.5", "-2"])).toBe("-0.500000000");
  });

  test("exact value", () => {
    expect(exactCost("0.000041200")).toBe("$0.0000412");
    expect(exactCost("392.400000000")).toBe("$392.40");
  });

  test("share of a limit", () => {
    expect(costShare("2612.000000000", "4000.000000000")).toBeCloseTo(0.653);
    expect(costShare("1.000000000", "0.000000000")).toBe(0);
  });
});

test("ids show their tail", () => {
  expect(shortId("job_01M7MVA4408D6W3CKM2VTX")).toBe("job_…KM2VTX");
  expect(shortId("cfg_9f2c01ab34cd")).toBe("cfg_…ab34cd");
  expect(shortId("key_web")).toBe("key_web");
  expect(splitId("job_01M7MVA4408D6W3CKM2VTX")).toEqual({ prefix: "job_", middle: "01M7MVA4408D6W3C", tail: "KM2VTX" });
});

test.each([
  [null, "–"],
  [0, "0/s"],
  [1e-9, "0/s"],
  [3.2174, "3.22/s"],
  [176.7, "177/s"],
  [9352.6, "9,353/s"],
  [0.05, "3.00/min"],
  [0.0005, "1.80/h"],
])("rate of %s is %s", (perSecond, text) => expect(formatRate(perSecond)).toBe(text));

describe("times", () => {
  const now = Date.parse("2026-11-17T15:00:00Z");
  test("in UTC", () => expect(formatTime("2026-11-17T14:32:07.25Z", "utc", now)).toBe("17 Nov, 14:32:07"));
  test("of another year", () => expect(formatTime("2025-01-02T03:04:05Z", "utc", now)).toBe("2 Jan 2025, 03:04:05"));
  test("of nothing", () => expect(formatTime(null, "utc", now)).toBe("–"));
  test("date", () => expect(formatDate("2026-11-17T14:32:07Z", "utc", now)).toBe("17 Nov"));
  test.each([
    ["2026-11-17T14:59:51Z", "9 s"],
    ["2026-11-17T14:58:00Z", "2 m"],
    ["2026-11-17T09:00:00Z", "6 h"],
    ["2026-11-01T09:00:00Z", "16 d"],
    ["2026-11-17T15:00:05Z", "0 s"],
  ])("age of %s is %s", (iso, text) => expect(formatAge(iso, now)).toBe(text));
});
