import { expect, test } from "vitest";
import type { Schemas } from "@/api";
import type { Attempt, Item, Job } from "./job";
import { waterfallOf } from "./timeline";

const job = {
  created_at: "2026-11-17T10:00:00Z",
  started_at: "2026-11-17T10:00:01Z",
  finished_at: "2026-11-17T10:00:06Z",
  status: "succeeded",
  lane: "standard",
  counts: { total: 1, queued: 0, running: 0, succeeded: 1, failed: 0, cancelled: 0, expired: 0 },
} as Job;

function attempt(number: number, from: string, to: string | null, kind: string | null, first: string | null = null): Attempt {
  const time = (s: string | null) => s && `2026-11-17T10:00:0${s}Z`;
  return {
    id: `att_${number}`,
    number,
    target: "main",
    error_kind: kind,
    status_code: kind ? 503 : 200,
    started_at: time(from),
    first_token_at: time(first),
    finished_at: time(to),
  } as Attempt;
}

test("attempts and the back-off between them", () => {
  const item = { history: [attempt(1, "1", "2", "overloaded"), attempt(2, "4", "6", null, "5")] } as Item;
  const { rows, total } = waterfallOf(job, item, [], 0);
  expect(total).toBe(6000);
  expect(rows.map((r) => [r.name, r.kind, r.from, r.to])).toEqual([
    ["Admit", "working", 0, 0],
    ["Queue", "waiting", 0, 1000],
    ["Attempt 1", "failed", 1000, 2000],
    ["Back-off", "backoff", 2000, 4000],
    ["Attempt 2", "working", 4000, 6000],
  ]);
  expect(rows[2]?.label).toBe("503 overloaded");
  expect(rows[4]?.first).toBe(5000);
});

test("an attempt that runs is not in the history yet", () => {
  const running = { ...job, finished_at: null, status: "running" } as Job;
  const { rows } = waterfallOf(
    running,
    { status: "running", history: [attempt(1, "1", "2", "overloaded")] } as Item,
    [],
    Date.parse("2026-11-17T10:00:09Z"),
  );
  expect(rows.at(-1)).toMatchObject({ name: "Attempt 2", from: 2000, kind: "working" });
  expect(rows.at(-1)?.to).toBeUndefined();
});

test("a job that waits, and one with many items", () => {
  const waiting = { ...job, started_at: null, finished_at: null, status: "queued" } as Job;
  const { rows, total } = waterfallOf(waiting, undefined, [], Date.parse("2026-11-17T10:00:09Z"));
  expect(total).toBe(9000);
  expect(rows.map((r) => [r.name, r.to])).toEqual([
    ["Admit", 0],
    ["Queue", undefined],
  ]);
  const many = { ...job, counts: { ...job.counts, total: 20, succeeded: 18, failed: 2 } } as Job;
  expect(waterfallOf(many, undefined, [], 0).rows.at(-1)).toMatchObject({ name: "Work", note: "20 items", from: 1000, to: 6000 });
});

test("a delivery that is retried for hours does not stretch the waterfall", () => {
  const delivery = {
    id: "dlv_1",
    type: "job.finished",
    status: "failed",
    created_at: "2026-11-17T10:00:06Z",
    delivered_at: null,
    history: [{ at: "2026-11-17T12:00:06Z", duration_ms: 1000 }],
  } as unknown as Schemas["Delivery"];
  const { rows, total } = waterfallOf(job, undefined, [delivery], 0);
  expect(total).toBe(12_000);
  expect(rows.at(-1)).toMatchObject({ name: "Deliver", kind: "failed", from: 6000, to: 12_000, took: "2 h 00 m" });
});
