import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Autosave } from "./autosave";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function rig(save: (value: string) => Promise<void>) {
  const states: string[] = [];
  const auto = new Autosave<string>(save, (state) => states.push(state), 100);
  return { auto, states };
}

test("the newest value is saved once, after a pause", async () => {
  const saved: string[] = [];
  const { auto, states } = rig(async (v) => void saved.push(v));
  auto.change("a");
  await vi.advanceTimersByTimeAsync(60);
  auto.change("b");
  await vi.advanceTimersByTimeAsync(60);
  expect(saved).toEqual([]);
  await vi.advanceTimersByTimeAsync(60);
  expect(saved).toEqual(["b"]);
  expect(states.at(-1)).toBe("saved");
  expect(auto.dirty).toBe(false);
});

test("a value that changes during a save is saved after it, never beside it", async () => {
  const saved: string[] = [];
  let running = 0;
  const { auto } = rig(async (v) => {
    expect(++running).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 500));
    running--;
    saved.push(v);
  });
  auto.change("a");
  await vi.advanceTimersByTimeAsync(150);
  auto.change("b");
  expect(auto.dirty).toBe(true);
  await vi.advanceTimersByTimeAsync(2000);
  expect(saved).toEqual(["a", "b"]);
});

test("flush saves at once and waits for a save that runs", async () => {
  const saved: string[] = [];
  const { auto } = rig(async (v) => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    saved.push(v);
  });
  auto.change("a");
  const done = auto.flush();
  await vi.advanceTimersByTimeAsync(50);
  expect(await done).toBe(true);
  expect(saved).toEqual(["a"]);
});

test("after a failure the value is kept, and the next change tries again", async () => {
  const saved: string[] = [];
  let fails = true;
  const { auto, states } = rig(async (v) => {
    if (fails) throw new Error("no");
    saved.push(v);
  });
  auto.change("a");
  await vi.advanceTimersByTimeAsync(100);
  expect(states.at(-1)).toBe("failed");
  await vi.advanceTimersByTimeAsync(5000);
  expect(states.at(-1)).toBe("failed");
  expect(await auto.flush()).toBe(false);
  fails = false;
  auto.change("b");
  await vi.advanceTimersByTimeAsync(100);
  expect(saved).toEqual(["b"]);
  expect(auto.dirty).toBe(false);
});
