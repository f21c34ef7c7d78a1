import type { Schemas } from "@/api";
import { durationForApi } from "@/format";

export type Limits = Schemas["Limits"];
export type TenantLimits = Schemas["TenantLimits"];
export type Budget = Schemas["Budget"];

/** A limit of the API, as a form shows it. */
export interface LimitField {
  name: "requests_per_minute" | "input_tokens_per_minute" | "output_tokens_per_minute" | "daily_tokens" | "concurrency" | "burst" | "wait";
  label: string;
  hint: string;
  kind: "count" | "number" | "duration";
}

export const limitFields: readonly LimitField[] = [
  { name: "requests_per_minute", label: "Requests per minute", hint: "Calls and items that start", kind: "count" },
  { name: "input_tokens_per_minute", label: "Input tokens per minute", hint: "Estimated when a call starts", kind: "count" },
  { name: "output_tokens_per_minute", label: "Output tokens per minute", hint: "By the upper bound of the answer", kind: "count" },
  { name: "daily_tokens", label: "Tokens per day", hint: "Input and output, per day of UTC", kind: "count" },
  { name: "concurrency", label: "Concurrency", hint: "Calls that run at the same time", kind: "count" },
  { name: "burst", label: "Burst", hint: "The part of a limit per minute that may be used at once, such as 0.05", kind: "number" },
  { name: "wait", label: "Wait", hint: "How long a call waits before it is refused, such as 2s", kind: "duration" },
];

export const storeFields = [
  { name: "enqueued_tokens", label: "Queued tokens", hint: "Tokens of all queued items together", kind: "count" },
  { name: "stored_bytes", label: "Stored bytes", hint: "Bytes of jobs and files together", kind: "count" },
] as const;

/** The texts of a form, by the name of the field. Empty means no limit. */
export type Texts = Readonly<Record<string, string>>;

type AnyField = Pick<LimitField, "label" | "kind"> & { name: string };

export function textsOf(values: object, fields: readonly AnyField[]): Texts {
  const known = values as Record<string, unknown>;
  return Object.fromEntries(fields.map(({ name }) => [name, known[name] === undefined || known[name] === 0 ? "" : String(known[name])]));
}

/** What is wrong with a text of a limit; null for a good one. */
export function limitProblem(text: string, kind: LimitField["kind"]): string | null {
  const value = bare(text);
  if (value === "") return null;
  if (kind === "duration") return durationForApi(value) === null ? "Write a duration such as 2s or 500ms." : null;
  if (kind === "count") return /^\d{1,15}$/.test(value) ? null : "Write a whole number.";
  return /^\d+(\.\d+)?$/.test(value) ? null : "Write a number.";
}

/** Numbers may be written with spaces, commas and underscores between thousands. */
function bare(text: string): string {
  return text.trim().replace(/(?<=\d)[,_ ](?=\d{3}(\D|$))/g, "");
}

/** The limits that the texts mean. Call it only when no text has a problem. */
export function limitsOf(texts: Texts, fields: readonly AnyField[]): Record<string, number | string> {
  const out: Record<string, number | string> = {};
  for (const { name, kind } of fields) {
    const value = bare(texts[name] ?? "");
    if (value !== "") out[name] = kind === "duration" ? (durationForApi(value) ?? value) : Number(value);
  }
  return out;
}

export const periods = [
  { name: "daily_usd", label: "Per day" },
  { name: "monthly_usd", label: "Per month" },
  { name: "total_usd", label: "In total" },
] as const;

/** A budget in a form. Amounts stay text: a float would change the last digits. */
export interface BudgetText {
  daily_usd: string;
  monthly_usd: string;
  total_usd: string;
  hard: boolean;
}

export const noBudget: BudgetText = { daily_usd: "", monthly_usd: "", total_usd: "", hard: false };

export function budgetText(budget: Budget | undefined): BudgetText {
  return {
    daily_usd: budget?.daily_usd ?? "",
    monthly_usd: budget?.monthly_usd ?? "",
    total_usd: budget?.total_usd ?? "",
    hard: budget?.hard ?? false,
  };
}

export function amountProblem(text: string): string | null {
  return text.trim() === "" || /^\d{1,9}(\.\d{1,9})?$/.test(text.trim()) ? null : "Write US dollars, such as 250 or 0.50.";
}

export function budgetProblem(budget: BudgetText): boolean {
  return periods.some((p) => amountProblem(budget[p.name]) !== null);
}

/** The budget that the texts mean: only the periods that have an amount. */
export function budgetOf(text: BudgetText): Budget {
  const out: Budget = {};
  for (const { name } of periods) if (text[name].trim() !== "") out[name] = text[name].trim();
  if (text.hard && Object.keys(out).length > 0) out.hard = true;
  return out;
}

/** A budget or a limit with the name of its tag or model, and an id for the list of the form. */
export interface Named<V> {
  id: number;
  name: string;
  value: V;
}

export function namedList<A, B>(map: Record<string, A>, convert: (value: A) => B): Named<B>[] {
  return Object.entries(map).map(([name, value], id) => ({ id, name, value: convert(value) }));
}

/** What is wrong with the names of a list: an empty one, or the same one twice. */
export function nameProblem(list: readonly Named<unknown>[], entry: Named<unknown>, what: string): string | null {
  const name = entry.name.trim();
  if (name === "") return `Name the ${what}.`;
  if (what === "tag" && !/^[^:=]+[:=].+$/.test(name)) return "Write the tag as key:value.";
  return list.some((other) => other.id !== entry.id && other.name.trim() === name) ? `This ${what} is in the list twice.` : null;
}

export function mapOf<A, B>(list: readonly Named<A>[], convert: (value: A) => B): Record<string, B> {
  return Object.fromEntries(list.map((entry) => [entry.name.trim(), convert(entry.value)]));
}
