import { expect, test } from "vitest";
import { tightest, verdict, whatIfWords } from "./run";
import { freeName } from "./saved";

test("questions in words", () => {
  expect(whatIfWords({})).toBe("as it is");
  expect(whatIfWords({ load: 2, slots: 128, down: ["main"] })).toBe("load ×2, 128 slots, main down");
});

test("a change is better or worse, or noise", () => {
  expect(verdict(100, 200, "less")).toBe("good");
  expect(verdict(100, 200, "more")).toBe("bad");
  expect(verdict(100, 101, "less")).toBe("same");
  expect(verdict(0, 0, "less")).toBe("same");
  expect(verdict(5, 0, "less")).toBe("bad");
  expect(verdict(5, 0, "neither")).toBe("same");
});

test("the tightest limit of a target", () => {
  expect(tightest({ concurrency: 0.4, requests_per_minute: 0.9 })).toEqual({ name: "requests per minute", share: 0.9 });
  expect(tightest({})).toBeNull();
});

test("a free name", () => {
  expect(freeName({ "Scenario 1": "", other: "" })).toBe("Scenario 2");
});
