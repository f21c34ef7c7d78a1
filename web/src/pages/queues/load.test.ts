import { expect, test } from "vitest";
import { activeTenants, deepestLane, emptyIn, type LaneQueue, oldest, pauseEffect, type RunningProcess, slotCount, withGone } from "./load";

const row = {
  name: "bulk",
  ready: 0,
  parked: 0,
  running: 0,
  oldest_seconds: 0,
  items_per_second: 0,
  tokens_per_second: 0,
  arrivals_per_second: 0,
  drain_items_per_second: null,
  empty_in_seconds: 0,
  service_seconds: null,
};
const lane = (over: Partial<LaneQueue>): LaneQueue => ({ ...row, tenants: [], left_out: 0, control: null, ...over });
const process = (over: Partial<RunningProcess>): RunningProcess => ({
  name: "a",
  self: false,
  version: "1",
  role: "all",
  works: true,
  draining: false,
  silent: false,
  slots: 64,
  in_use: 6,
  calls: 0,
  calls_by_target: {},
  blocked: [],
  started_at: null,
  heartbeat_at: null,
  ...over,
});

test("a lane without work has no oldest item and is empty already", () => {
  expect(oldest(row)).toBe("–");
  expect(emptyIn(row)).toBe("–");
  expect(oldest({ ...row, ready: 1, oldest_seconds: 13 })).toBe("13.0 s");
  expect(emptyIn({ ...row, ready: 1, empty_in_seconds: null })).toBe("–");
  expect(emptyIn({ ...row, parked: 1, empty_in_seconds: 7200 })).toBe("2 h 00 m");
});

test("the deepest lane is first, the most urgent of equals", () => {
  expect(deepestLane([])).toBe("standard");
  expect(deepestLane([lane({ name: "realtime" }), lane({ name: "standard" })])).toBe("realtime");
  expect(deepestLane([lane({ name: "realtime", ready: 2 }), lane({ name: "bulk", ready: 1, parked: 4 })])).toBe("bulk");
});

test("tenants without work and without a share are left out", () => {
  const share = { ...row, tenant: "a", weight: 1, share: 0, fair_share: 0 };
  const tenants = [share, { ...share, tenant: "b", running: 1 }, { ...share, tenant: "c", share: 0.5 }];
  expect(activeTenants({ tenants }).map((t) => t.tenant)).toEqual(["b", "c"]);
});

test("the effect of a pause", () => {
  expect(pauseEffect(row)).toBe("No item waits now.");
  expect(pauseEffect({ ready: 2000, parked: 401, running: 1 }, 2)).toBe(
    "2,401 queued items of 2 tenants wait until you resume. 1 running item finishes.",
  );
});

test("only processes that claim items have slots", () => {
  const all = [process({}), process({ works: false }), process({ draining: true })];
  expect(slotCount(all)).toEqual({ workers: 1, slots: 64, inUse: 6 });
});

test("a process that vanished stays, and returns", () => {
  const first = withGone([], [process({ name: "a" }), process({ name: "b" })]);
  const second = withGone(first, [process({ name: "b" })]);
  expect(second.map((p) => [p.name, p.gone])).toEqual([
    ["b", false],
    ["a", true],
  ]);
  expect(withGone(second, [process({ name: "a" })]).map((p) => [p.name, p.gone])).toEqual([
    ["a", false],
    ["b", true],
  ]);
});
