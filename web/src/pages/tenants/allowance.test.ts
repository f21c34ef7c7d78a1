import { expect, test } from "vitest";
import { amountProblem, budgetOf, budgetText, limitFields, limitProblem, limitsOf, nameProblem, textsOf } from "./allowance";

test("limits survive the form", () => {
  const limits = { requests_per_minute: 600, output_tokens_per_minute: 120_000, wait: "2s", burst: 1.5 };
  expect(limitsOf(textsOf(limits, limitFields), limitFields)).toEqual(limits);
  expect(limitsOf({ daily_tokens: "20,000,000", concurrency: "" }, limitFields)).toEqual({ daily_tokens: 20_000_000 });
});

test("wrong limits are named", () => {
  expect(limitProblem("", "count")).toBeNull();
  expect(limitProblem("1 000 000", "count")).toBeNull();
  expect(limitProblem("1.5", "count")).toMatch(/whole/);
  expect(limitProblem("-1", "count")).toMatch(/whole/);
  expect(limitProblem("soon", "duration")).toMatch(/2s/);
});

test("budgets keep their digits", () => {
  expect(budgetOf(budgetText({ monthly_usd: "123456789.123456789", hard: true }))).toEqual({
    monthly_usd: "123456789.123456789",
    hard: true,
  });
  expect(budgetOf({ daily_usd: " ", monthly_usd: "", total_usd: "", hard: true })).toEqual({});
  expect(amountProblem("1e3")).not.toBeNull();
  expect(amountProblem("0.50")).toBeNull();
});

test("tags are key:value and not twice in the list", () => {
  const list = [
    { id: 1, name: "team:search", value: 0 },
    { id: 2, name: "team:search", value: 0 },
    { id: 3, name: "team", value: 0 },
  ];
  expect(list.map((entry) => nameProblem(list, entry, "tag"))).toEqual([
    "This tag is in the list twice.",
    "This tag is in the list twice.",
    "Write the tag as key:value.",
  ]);
});
