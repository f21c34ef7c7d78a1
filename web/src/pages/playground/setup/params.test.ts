import { expect, test } from "vitest";
import { settings, shownSettings, textOfOthers, textOfSetting, withOthers, withSetting } from "./params";

const setting = (member: string) => settings.find((s) => s.member === member) ?? settings[0] ?? expect.fail();

test("fields set and remove members", () => {
  expect(withSetting(setting("temperature"), { seed: 7 }, "0.2")).toEqual({ params: { seed: 7, temperature: 0.2 } });
  expect(withSetting(setting("seed"), { seed: 7 }, " ")).toEqual({ params: {} });
  expect(withSetting(setting("stop"), {}, "END\n\nSTOP")).toEqual({ params: { stop: ["END", "STOP"] } });
  expect(withSetting(setting("reasoning_effort"), {}, "low")).toEqual({ params: { reasoning_effort: "low" } });
});

test("a text that is no value says why", () => {
  expect(withSetting(setting("temperature"), {}, "3")).toEqual({ problem: "Temperature is not between 0 and 2." });
  expect(withSetting(setting("temperature"), {}, "warm")).toEqual({ problem: "Temperature is not a number." });
  expect(withSetting(setting("max_tokens"), {}, "1.5")).toEqual({ problem: "Max tokens is not a whole number." });
  expect(withSetting(setting("stop"), {}, "a\nb\nc\nd\ne")).toEqual({ problem: "There are more than 4 texts." });
});

test("fields show what is set", () => {
  expect(textOfSetting(setting("stop"), { stop: "END" })).toBe("END");
  expect(textOfSetting(setting("seed"), {})).toBe("");
  expect(textOfSetting(setting("temperature"), { temperature: 0 })).toBe("0");
});

test("other members are free JSON, without those that have a place", () => {
  const params = { temperature: 1, logit_bias: { "5": -1 } };
  expect(JSON.parse(textOfOthers(params))).toEqual({ logit_bias: { "5": -1 } });
  expect(withOthers(params, '{"n":2}')).toEqual({ params: { temperature: 1, n: 2 } });
  expect(withOthers(params, "")).toEqual({ params: { temperature: 1 } });
  expect(withOthers(params, '{"model":"x"}')).toEqual({ problem: "model has a place of its own." });
  expect(withOthers(params, "[]")).toEqual({ problem: "It is not a JSON object." });
  expect(withOthers(params, "{")).toHaveProperty("problem");
});

test("settings that differ from column A are marked", () => {
  const shown = shownSettings({ temperature: 0.2, top_k: 4 }, { temperature: 0.7, seed: 7, top_k: 4 });
  expect(shown).toEqual([
    { member: "temperature", name: "temp", text: "0.2", differs: true },
    { member: "seed", name: "seed", text: "–", differs: true },
    { member: "top_k", name: "top_k", text: "4", differs: false },
  ]);
  expect(shownSettings({ temperature: 0.2 }, null)).toEqual([{ member: "temperature", name: "temp", text: "0.2", differs: false }]);
});
