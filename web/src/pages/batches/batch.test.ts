import { expect, test } from "vitest";
import { type Batch, batchName, batchState, itemRate, ownPath, shareWords } from "./batch";

const counts = (more: Partial<Batch["counts"]>) => ({
  total: 10,
  queued: 0,
  running: 0,
  succeeded: 0,
  failed: 0,
  cancelled: 0,
  expired: 0,
  ...more,
});
const batch = (more: Partial<Batch>, c: Partial<Batch["counts"]> = {}) =>
  ({
    batch_id: "batch_01M7MHP61GEZHNA3GMT1Q3YAVR",
    dialect: "openai",
    metadata: {},
    errors: [],
    waiting_on: null,
    finished_at: null,
    cancel_requested_at: null,
    counts: counts(c),
    ...more,
  }) as Batch;
const ended = { finished_at: "2026-11-17T10:00:00Z" };

test("the state of a batch follows from its counts", () => {
  expect(batchState(batch({}, { queued: 10 }))).toEqual({ state: "queued" });
  expect(batchState(batch({}, { queued: 8, succeeded: 2 }))).toEqual({ state: "running" });
  expect(batchState(batch({ waiting_on: "paused" }, { queued: 10 }))).toEqual({ state: "paused" });
  expect(batchState(batch({ cancel_requested_at: "x" }, { queued: 8, running: 2 })).word).toBe("Cancelling");
  expect(batchState(batch(ended, { succeeded: 10 }))).toEqual({ state: "succeeded" });
  expect(batchState(batch(ended, { succeeded: 9, failed: 1 }))).toEqual({ state: "mixed" });
  expect(batchState(batch(ended, { failed: 10 }))).toEqual({ state: "failed" });
  expect(batchState(batch(ended, { succeeded: 5, expired: 5 }))).toEqual({ state: "expired" });
  expect(batchState(batch(ended, { succeeded: 5, cancelled: 5 }))).toEqual({ state: "cancelled" });
  expect(batchState(batch({ errors: [{ code: "x", message: "", param: null, line: 1 }] })).word).toBe("Refused");
});

test("names, rates and shares", () => {
  expect(batchName(batch({}))).toBe("batch_…Q3YAVR");
  expect(batchName(batch({ metadata: { source: "autumn.jsonl" } }))).toBe("autumn.jsonl");
  expect([itemRate(null), itemRate(0.276), itemRate(1234)]).toEqual(["–", "0.28 /s", "1,234 /s"]);
  expect(shareWords(counts({ queued: 4, succeeded: 5, failed: 1 })).map((w) => w.text)).toEqual(["60% done", "10% failed"]);
  expect(ownPath(batch({ dialect: "anthropic", batch_id: "msgbatch_1" }))).toBe("/v1/messages/batches/msgbatch_1");
});
