import type { Params } from "../types";

/** A setting with a field of its own. All others are free JSON. */
export interface Setting {
  member: string;
  /** In the line under the head of a column. */
  short: string;
  label: string;
  hint: string;
  kind: "number" | "integer" | "choice" | "list";
  min?: number;
  max?: number;
  choices?: readonly string[];
}

export const settings: readonly Setting[] = [
  {
    member: "temperature",
    short: "temp",
    label: "Temperature",
    hint: "0 to 2. Lower repeats itself more.",
    kind: "number",
    min: 0,
    max: 2,
  },
  {
    member: "max_tokens",
    short: "max",
    label: "Max tokens",
    hint: "Of the answer. It bounds the cost.",
    kind: "integer",
    min: 1,
    max: 10_000_000,
  },
  { member: "top_p", short: "top_p", label: "Top p", hint: "0 to 1.", kind: "number", min: 0, max: 1 },
  { member: "seed", short: "seed", label: "Seed", hint: "The same seed repeats answers, where the model can.", kind: "integer" },
  {
    member: "reasoning_effort",
    short: "effort",
    label: "Reasoning effort",
    hint: "For models that reason.",
    kind: "choice",
    choices: ["none", "minimal", "low", "medium", "high", "xhigh"],
  },
  { member: "stop", short: "stop", label: "Stop", hint: "One text on each line, 4 at the most.", kind: "list" },
];

const own = new Set(settings.map((s) => s.member));
/** Members of a call that a column sets elsewhere. */
const elsewhere = new Set(["model", "messages", "tools", "response_format", "stream", "stream_options", "prompt"]);

/** The text of a setting in its field; "" where it is not set. */
export function textOfSetting(setting: Setting, params: Params): string {
  const value = params[setting.member];
  if (value === undefined || value === null) return "";
  if (setting.kind === "list") return (Array.isArray(value) ? value : [value]).map(String).join("\n");
  return String(value);
}

/** Params with the text of a field, or the reason why the text is no value. An empty text removes the setting. */
export function withSetting(setting: Setting, params: Params, text: string): { params: Params } | { problem: string } {
  const { [setting.member]: _, ...rest } = params;
  if (text.trim() === "") return { params: rest };
  const set = (value: unknown) => ({ params: { ...rest, [setting.member]: value } });
  if (setting.kind === "choice") return set(text);
  if (setting.kind === "list") {
    const list = text.split("\n").filter((line) => line !== "");
    return list.length > 4 ? { problem: "There are more than 4 texts." } : set(list);
  }
  const number = Number(text);
  if (!Number.isFinite(number)) return { problem: `${setting.label} is not a number.` };
  if (setting.kind === "integer" && !Number.isInteger(number)) return { problem: `${setting.label} is not a whole number.` };
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = setting;
  if (number < min || number > max) return { problem: `${setting.label} is not between ${min} and ${max}.` };
  return set(number);
}

/** The settings without a field, as JSON text. */
export function textOfOthers(params: Params): string {
  const others = Object.entries(params).filter(([member]) => !own.has(member));
  return others.length === 0 ? "" : JSON.stringify(Object.fromEntries(others), null, 2);
}

/** Params with other settings from JSON text. */
export function withOthers(params: Params, text: string): { params: Params } | { problem: string } {
  const kept = Object.fromEntries(Object.entries(params).filter(([member]) => own.has(member)));
  if (text.trim() === "") return { params: kept };
  try {
    const others = JSON.parse(text) as unknown;
    if (typeof others !== "object" || others === null || Array.isArray(others)) return { problem: "It is not a JSON object." };
    const wrong = Object.keys(others).find((member) => elsewhere.has(member) || own.has(member));
    if (wrong) return { problem: `${wrong} has a place of its own.` };
    return { params: { ...kept, ...others } };
  } catch (error) {
    return { problem: `It is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** A setting as a column shows it. */
export interface ShownSetting {
  member: string;
  name: string;
  text: string;
  /** It differs from that of column A. */
  differs: boolean;
}

/** The settings of a column in a line, with marks where they differ from those of column A. A setting that only A has shows as –. */
export function shownSettings(params: Params, first: Params | null): ShownSetting[] {
  const members = [...settings.map((s) => s.member), ...[...Object.keys(params), ...Object.keys(first ?? {})].filter((m) => !own.has(m))];
  return [...new Set(members)].flatMap((member) => {
    const here = params[member];
    const differs = first !== null && JSON.stringify(here) !== JSON.stringify(first[member]);
    if (elsewhere.has(member) || (here === undefined && !differs)) return [];
    const name = settings.find((s) => s.member === member)?.short ?? member;
    return [{ member, name, text: here === undefined ? "–" : shortText(here), differs }];
  });
}

function shortText(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 24 ? `${text.slice(0, 23)}…` : text;
}
