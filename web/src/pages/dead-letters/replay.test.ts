import { expect, test } from "vitest";
import { filterOf, queryOf } from "./filter";
import { effectOf, totalOf } from "./replay";

const answer = {
  object: "dead_letter_retry",
  dry_run: true,
  jobs: [{ job_id: null, retry_of: "job_1", items: 2 }],
  items: 2,
  at_most: { tokens: 10, cost_usd: "0.100000000" },
  remaining: 1,
  skipped: [{ job_id: "job_2", items: 1, error: { code: "gone" as const, message: "The input is gone." } }],
};

test("dry runs add up; what cannot be retried does not count", () => {
  const effect = effectOf([answer, { ...answer, skipped: [], remaining: 0 }]);
  expect(effect).toMatchObject({ counts: [3, 2], jobs: 2, priced: 4, atMost: "0.200000000" });
  expect(totalOf(effect)).toBe(4);
});

test("an act on everything says so", () => {
  expect(filterOf(queryOf({}, 0))).toEqual({ all: true });
  expect(filterOf(queryOf({ code: "poison", group: "x", job: "job_1" }, 0))).toEqual({ code: "poison", job_id: "job_1" });
});
