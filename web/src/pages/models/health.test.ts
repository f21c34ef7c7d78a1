import { expect, test } from "vitest";
import { modelHealth, modelsWithoutAnother, targetHealth } from "./health";

const open = { state: "open", rest_seconds: 0, recent: { attempts: 100, failed: 0, p50_ms: null, p95_ms: null }, control: null } as const;

test("an open target whose attempts fail often is degraded", () => {
  expect(targetHealth(open).state).toBe("healthy");
  expect(targetHealth({ ...open, recent: { ...open.recent, failed: 6 } }).word).toBe("Failing");
  expect(targetHealth({ ...open, recent: { ...open.recent, attempts: 4, failed: 4 } }).state).toBe("healthy");
  expect(targetHealth({ ...open, state: "resting", rest_seconds: 12 }).word).toBe("Rests 12.0 s");
  expect(targetHealth({ ...open, state: "broken" }).state).toBe("down");
});

test("a model is as healthy as its targets", () => {
  expect(modelHealth(["open", "open"]).state).toBe("healthy");
  expect(modelHealth(["open", "broken"]).state).toBe("degraded");
  expect(modelHealth(["broken", "paused"]).state).toBe("down");
  expect(modelHealth(["paused"]).state).toBe("paused");
  expect(modelHealth([]).state).toBe("down");
});

test("models that a pause of a target stops", () => {
  const all = [
    { name: "a", models: ["fast", "only"], state: "open" },
    { name: "b", models: ["fast"], state: "open" },
    { name: "c", models: ["only"], state: "paused" },
  ] as const;
  const at = (i: 0 | 1 | 2) => ({ ...all[i], models: [...all[i].models] });
  expect(modelsWithoutAnother(at(0), [at(0), at(1), at(2)])).toEqual(["only"]);
  expect(modelsWithoutAnother(at(1), [at(0), at(1), at(2)])).toEqual([]);
});
