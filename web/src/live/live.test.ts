import { expect, test } from "vitest";
import { backoff } from "./connection";
import { pathsFor } from "./useLive";

test("topics name reads", () => {
  const topics = { "job.*": ["/v1/jobs"], "job.finished": ["/v1/usage"], "*": ["/v1/me"] };
  expect(pathsFor("job.finished", topics)).toEqual(["/v1/jobs", "/v1/usage", "/v1/me"]);
  expect(pathsFor("batch.progress", topics)).toEqual(["/v1/me"]);
  expect(pathsFor("reset", topics)).toEqual(["/v1/jobs", "/v1/usage", "/v1/me"]);
});

test("back-off doubles up to 30 s, with jitter of a half", () => {
  expect(backoff(0, 0)).toBe(500);
  expect(backoff(0, 1)).toBe(1000);
  expect(backoff(3, 1)).toBe(8000);
  expect(backoff(20, 1)).toBe(30_000);
  expect(backoff(20, 0)).toBe(15_000);
});
