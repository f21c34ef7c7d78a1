import { expect, test } from "vitest";
import type { Attempt } from "./attempt";
import { timelineOf } from "./timeline";

const usage = { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0, cost_usd: "0.000000000" };
const attempt = (number: number, more: Partial<Attempt>): Attempt => ({
  id: `att_${number}`,
  number,
  target: `t${number}`,
  reason: null,
  config: "cfg_1",
  isolated: false,
  error_kind: null,
  error_message: null,
  status_code: 200,
  usage,
  usage_known: true,
  started_at: null,
  first_token_at: null,
  finished_at: null,
  ...more,
});

test("waits, back-off and attempts are rows of the timeline", () => {
  const { rows, total } = timelineOf({
    started_at: "2026-11-17T10:00:00.000Z",
    finished_at: "2026-11-17T10:00:02.000Z",
    cache: null,
    history: [
      attempt(1, {
        error_kind: "overloaded",
        status_code: 503,
        started_at: "2026-11-17T10:00:00.010Z",
        finished_at: "2026-11-17T10:00:00.500Z",
      }),
      attempt(2, {
        started_at: "2026-11-17T10:00:01.000Z",
        first_token_at: "2026-11-17T10:00:01.200Z",
        finished_at: "2026-11-17T10:00:02.000Z",
      }),
    ],
  });
  expect(total).toBe(2000);
  expect(rows.map((r) => [r.name, r.kind, r.from, r.to])).toEqual([
    ["Admit", "waiting", 0, 10],
    ["Attempt 1", "failed", 10, 500],
    ["Back-off", "backoff", 500, 1000],
    ["Attempt 2", "working", 1000, 2000],
  ]);
  expect(rows[1]?.label).toBe("503 overloaded");
  expect(rows[3]).toMatchObject({ first: 1200, label: "first token 200 ms" });
});

test("a call without attempts has no rows", () => {
  const none = { started_at: "2026-11-17T10:00:00Z", finished_at: "2026-11-17T10:00:00Z", cache: null, history: [] };
  expect(timelineOf(none)).toEqual({ rows: [], total: 1 });
});
