import type { Schemas } from "@/api";
import { formatCount } from "@/format";

export type Forecast = Schemas["Forecast"];
export type WhatIf = Schemas["WhatIf"];

/** A forecast that ran. */
export interface Run {
  id: number;
  scenario: string; // its name
  words: string; // the questions
  result: Forecast;
}

/** The questions in words: `load ×2, 128 slots, main down`. */
export function whatIfWords(w: WhatIf): string {
  const words = [
    w.load && w.load !== 1 ? `load ×${w.load}` : "",
    w.slots ? `${formatCount(w.slots)} slots` : "",
    w.processes ? `${formatCount(w.processes)} processes` : "",
    ...(w.down ?? []).map((name) => `${name} down`),
  ].filter(Boolean);
  return words.join(", ") || "as it is";
}

/** The direction in which a figure gets better. */
export type Better = "less" | "more" | "neither";

/** Whether a number became better, worse or neither; changes under 2% are noise of a simulation. */
export function verdict(now: number, before: number, better: Better): "good" | "bad" | "same" {
  if (better === "neither") return "same";
  if (Math.abs(now - before) <= Math.max(Math.abs(now), Math.abs(before)) * 0.02) return "same";
  return now < before === (better === "less") ? "good" : "bad";
}

/** The limit of a target that is used most, and how much of it. */
export function tightest(used: Readonly<Record<string, number>>): { name: string; share: number } | null {
  const entries = Object.entries(used).sort((a, b) => b[1] - a[1]);
  const first = entries[0];
  return first ? { name: first[0].replaceAll("_", " "), share: Math.round(first[1] * 10_000) / 10_000 } : null;
}
