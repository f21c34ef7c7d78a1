/** A time range in the URL: a preset (`24h`), or two times (`2026-11-17T00:00:00.000Z..2026-11-18T00:00:00.000Z`). */
export type Range = string;

export const presets = [
  { value: "1h", label: "Last hour", ms: 3_600_000 },
  { value: "6h", label: "Last 6 hours", ms: 6 * 3_600_000 },
  { value: "24h", label: "Last 24 hours", ms: 24 * 3_600_000 },
  { value: "7d", label: "Last 7 days", ms: 7 * 86_400_000 },
  { value: "30d", label: "Last 30 days", ms: 30 * 86_400_000 },
  { value: "all", label: "All time", ms: Number.POSITIVE_INFINITY },
] as const;

export function rangeText(from: string, to: string): Range {
  return `${from}..${to}`;
}

/** The two times of an absolute range; null for presets and for nonsense. */
export function parseRange(range: Range): { from: string; to: string } | null {
  const [from, to] = range.split("..");
  if (!from || !to || Number.isNaN(Date.parse(from)) || Number.isNaN(Date.parse(to))) return null;
  return { from, to };
}

/** A range that a page understands: the text of the URL, or the page's default. */
export function validRange(text: string | undefined, fallback: Range): Range {
  return text && (presets.some((p) => p.value === text) || parseRange(text)) ? text : fallback;
}

/**
 * The times of a range for the API: `from` alone for a preset, nothing for all time. A preset moves with the clock; its start is
 * rounded down to the minute, so that the key of a query stays the same for a while.
 */
export function boundsOf(range: Range, now: number): { from?: string; to?: string } {
  const absolute = parseRange(range);
  if (absolute) return absolute;
  const preset = presets.find((p) => p.value === range);
  if (!preset || !Number.isFinite(preset.ms)) return {};
  return { from: new Date(Math.floor((now - preset.ms) / 60_000) * 60_000).toISOString() };
}
