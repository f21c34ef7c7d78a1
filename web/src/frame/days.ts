import { formatDate } from "@/format";
import { parseRange, rangeText } from "./range";

/** A range of whole days of UTC in the URL: a preset (`month`), or two days (`2026-11-01..2026-11-17`), both included. */
export type DayRange = string;

export const dayPresets = [
  { value: "month", label: "This month" },
  { value: "last_month", label: "Last month" },
  { value: "7d", label: "Last 7 days" },
  { value: "30d", label: "Last 30 days" },
  { value: "90d", label: "Last 90 days" },
] as const;

const dayMs = 86_400_000;
const day = /^\d{4}-\d\d-\d\d$/;

export function dayText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** The two days of an absolute range; null for presets and for nonsense. */
export function parseDays(range: DayRange): { from: string; to: string } | null {
  const both = parseRange(range);
  return both && day.test(both.from) && day.test(both.to) && both.from <= both.to ? both : null;
}

export function validDays(text: string | undefined): DayRange | undefined {
  return text && (dayPresets.some((p) => p.value === text) || parseDays(text)) ? text : undefined;
}

/** The first and the last day of a range. */
export function daysOf(range: DayRange, now: number): { from: string; to: string } {
  const absolute = parseDays(range);
  if (absolute) return absolute;
  const today = dayText(now);
  const first = `${today.slice(0, 8)}01`;
  if (range === "last_month") {
    const last = dayText(Date.parse(first) - dayMs);
    return { from: `${last.slice(0, 8)}01`, to: last };
  }
  const count = Number.parseInt(range, 10);
  return { from: Number.isNaN(count) ? first : dayText(now - (count - 1) * dayMs), to: today };
}

/** Every day of a range, in order. */
export function eachDay({ from, to }: { from: string; to: string }): string[] {
  const days: string[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += dayMs) days.push(dayText(at));
  return days;
}

/** The range that a person dragged over a chart whose bars stand at the start of their day. */
export function draggedDays(fromSeconds: number, toSeconds: number): DayRange {
  const near = (seconds: number) => dayText(Math.round(seconds / 86_400) * dayMs);
  return rangeText(near(fromSeconds), near(toSeconds));
}

export function dayRangeWords(range: DayRange): string {
  const preset = dayPresets.find((p) => p.value === range);
  if (preset) return preset.label;
  const both = parseDays(range);
  if (!both) return range;
  return both.from === both.to ? formatDate(both.from, "utc") : `${formatDate(both.from, "utc")} – ${formatDate(both.to, "utc")}`;
}
