import { expect, test } from "vitest";
import { endpointState, lastAnswer, successRate, urlProblem } from "./state";

test("the state of an endpoint", () => {
  const hook = { enabled: true, failures: 0, rest_until: null };
  expect(endpointState(hook).word).toBe("Healthy");
  expect(endpointState({ ...hook, failures: 2 }).word).toBe("Failing");
  expect(endpointState({ ...hook, failures: 5, rest_until: "2026-11-17T10:00:00Z" }).word).toBe("Resting");
  expect(endpointState({ ...hook, enabled: false, failures: 5 }).word).toBe("Disabled");
});

test("pending deliveries do not count in the success rate", () => {
  expect(successRate([])).toBeNull();
  expect(successRate([{ status: "pending" }])).toBeNull();
  expect(successRate([{ status: "delivered" }, { status: "failed" }, { status: "pending" }, { status: "delivered" }])).toBeCloseTo(2 / 3);
});

test("the last answer", () => {
  expect(lastAnswer({ history: [] })).toBeNull();
  const history = [{ at: "2026-11-17T10:00:00Z", duration_ms: 12, status_code: null, error: "the connection was refused" }];
  expect(lastAnswer({ history })).toEqual({ code: null, ms: 12, ok: false });
});

test("addresses", () => {
  expect(urlProblem("https://app.example/hook")).toBeNull();
  expect(urlProblem("app.example/hook")).not.toBeNull();
  expect(urlProblem("javascript:alert(1)")).not.toBeNull();
  expect(urlProblem("https://a:b@app.example/")).not.toBeNull();
});
