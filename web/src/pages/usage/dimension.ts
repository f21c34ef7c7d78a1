import type { Schemas } from "@/api";

export type Line = Schemas["Line"];

/** A dimension of a report: `model`, or one tag such as `tag:team`. */
export type Dimension = string;

const words: Record<string, string> = { tenant: "Tenant", model: "Model", key: "Key", tag: "All tags", lane: "Lane" };

/** The filters of the page, which are also parameters of the API. */
export const filterNames = ["tenant", "model", "key", "lane", "tag"] as const;
export type Filters = { [K in (typeof filterNames)[number]]?: string };

export function isDimension(text: string): boolean {
  return Object.hasOwn(words, text) || (text.startsWith("tag:") && text.length > 4);
}

export function dimensionWord(dimension: Dimension): string {
  return words[dimension] ?? `Tag ${dimension.slice(4)}`;
}

/** The value of a line in a dimension; "" where it has none. */
export function valueIn(line: Line, dimension: Dimension): string {
  if (dimension.startsWith("tag:")) return line.tags?.[dimension.slice(4)] ?? "";
  switch (dimension) {
    case "tenant":
      return line.tenant ?? "";
    case "model":
      return line.model ?? "";
    case "key":
      return line.key ?? "";
    case "lane":
      return line.lane ?? "";
    default:
      return Object.entries(line.tags ?? {})
        .map(([name, value]) => `${name}:${value}`)
        .join(" ");
  }
}

/** The words for a line without a value. */
export function noValue(dimension: Dimension): string {
  if (dimension === "key") return "No key";
  return dimension.startsWith("tag") ? "No tag" : "Unknown";
}

/** The filter that keeps only the lines with this value; null where the API has none: work without a value, and several tags at once. */
export function filterFor(line: Line, dimension: Dimension): Filters | null {
  const value = valueIn(line, dimension);
  if (line.other || value === "") return null;
  if (dimension.startsWith("tag:")) return { tag: `${dimension.slice(4)}:${value}` };
  if (dimension !== "tag") return { [dimension]: value };
  const tags = Object.entries(line.tags ?? {});
  const [first] = tags;
  return first && tags.length === 1 ? { tag: `${first[0]}:${first[1]}` } : null;
}

const order = ["tenant", "model", "key", "tag", "lane"];

/** The dimensions after a drill-down: the one that has a single value now gives way to the next one that is free. */
export function dimensionsAfter(by: readonly Dimension[], drilled: Dimension, all: boolean): Dimension[] {
  const rest = by.filter((d) => d !== drilled);
  if (rest.length > 0) return rest;
  const next = order.slice(order.indexOf(drilled.startsWith("tag") ? "tag" : drilled) + 1).find((d) => all || d !== "tenant");
  return [next ?? "model"];
}

/** The names of the tags that lines have, the most frequent first. */
export function tagNames(lines: readonly Line[]): string[] {
  const seen = new Map<string, number>();
  for (const line of lines) for (const name of Object.keys(line.tags ?? {})) seen.set(name, (seen.get(name) ?? 0) + 1);
  return [...seen].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).map(([name]) => name);
}
