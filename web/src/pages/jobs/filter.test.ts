import { expect, test } from "vitest";
import { canCount, listQuery, meaningOf, sharedQuery } from "./filter";

test("text without a field is an id, a fingerprint or a tag", () => {
  expect(meaningOf("job_01M7MD41416PP8MPRCND01JTP4")).toEqual({ id: "job_01M7MD41416PP8MPRCND01JTP4" });
  expect(meaningOf("01M7MD")).toEqual({ id: "01M7MD" });
  expect(meaningOf("upstream_timeout/timeout/openai-main/504/000000ff")).toEqual({
    fingerprint: "upstream_timeout/timeout/openai-main/504/000000ff",
  });
  expect(meaningOf("env=prod")).toEqual({ tag: "env:prod" });
  expect(meaningOf("url: https://a.example/")).toEqual({ tag: "url:https://a.example/" });
  expect(meaningOf("hello")).toBeNull();
});

test("the list filters by status and errors, the summary by neither", () => {
  const search = { status: "failed", code: "poison", lane: "bulk", order: "asc" } as const;
  expect(listQuery(search, 0)).toEqual({ status: "failed", code: "poison", lane: "bulk", limit: 100 });
  expect(sharedQuery(search, 0)).toEqual({ lane: "bulk" });
  expect(canCount(search)).toBe(false);
  expect(listQuery({ order: "asc" }, 0)).toEqual({ order: "asc", limit: 100 });
});
