import { expect, test } from "vitest";
import { runGlyph, runTitle } from "./words";

const counts = { queued: 0, running: 0, succeeded: 2, failed: 0, stopped: 0, interrupted: 0 };

test("titles of runs", () => {
  expect(runTitle({ name: "Tone", prompts: ["a@1"], models: [] })).toBe("Tone");
  expect(runTitle({ name: null, prompts: ["support/answer@7", "b@draft"], models: ["fast"] })).toBe("support/answer v7, b draft");
  expect(runTitle({ name: null, prompts: [], models: ["fast", "smart"] })).toBe("fast, smart");
  expect(runTitle({ name: null, prompts: [], models: [] })).toBe("Untitled run");
});

test("glyphs of runs", () => {
  expect(runGlyph({ state: "completed", counts })).toBe("succeeded");
  expect(runGlyph({ state: "completed", counts: { ...counts, failed: 1 } })).toBe("mixed");
  expect(runGlyph({ state: "completed", counts: { ...counts, succeeded: 0, failed: 1 } })).toBe("failed");
  expect(runGlyph({ state: "stopped", counts })).toBe("cancelled");
  expect(runGlyph({ state: "running", counts })).toBe("running");
});
