import type { Schemas } from "@/api";
import type { Series } from "@/components/Chart";
import type { Change } from "@/components/StatCard";
import { formatChange, formatCount, formatDuration, formatPoints, threeFigures } from "@/format";

export type Overview = Schemas["Overview"];
type Stat = Schemas["Stat"];

/** `1,284`, `12.4`, `0.45`: a rate per minute. */
export function formatRate(perMinute: number | null): string {
  if (perMinute === null) return "–";
  return perMinute >= 100 || Number.isInteger(perMinute) ? formatCount(perMinute) : threeFigures(perMinute);
}

/** A rate in the unit that suits it: per minute, or per hour for less than one in a minute. */
export function rateIn(perSecond: number | null | undefined): { value: string; unit: string } {
  const perMinute = perSecond == null ? null : perSecond * 60;
  if (perMinute === null || perMinute === 0 || perMinute >= 1) return { value: formatRate(perMinute), unit: "/min" };
  return { value: formatRate(perMinute * 60), unit: "/h" };
}

/** The values of a series that were measured. */
export function measured(series: readonly (number | null)[]): number[] {
  return series.filter((v) => v !== null);
}

export function rateChange(stat: Stat): Change | undefined {
  if (stat.value === null || stat.previous === null) return undefined;
  const text = formatChange(stat.value, stat.previous);
  return text === null ? undefined : { text };
}

const badPoints = -0.005;

/** The change of the success rate; half a point less is bad. */
export function successChange(stat: Stat): Change | undefined {
  if (stat.value === null || stat.previous === null) return undefined;
  const difference = stat.value - stat.previous;
  return { text: formatPoints(difference), tone: difference <= badPoints ? "bad" : "plain" };
}

const slower = 0.1;

/** The change of the latency; a tenth more is a warning. */
export function latencyChange(stat: Stat): Change | undefined {
  if (stat.value === null || stat.previous === null) return undefined;
  const difference = stat.value - stat.previous;
  const text = `${difference > 0 ? "+" : ""}${formatDuration(difference)}`;
  return { text, tone: difference > stat.previous * slower ? "warn" : "plain" };
}

const colors = { realtime: "water", standard: "violet", bulk: "slate" } as const;

/** Calls and items that ended, per minute, by lane. The last step is not over: it counts for the time that it has lasted. */
export function traffic(o: Overview): { times: number[]; series: Series[] } {
  const times = (o.lanes[0]?.points ?? []).map((p) => Date.parse(p.at) / 1000);
  const asOf = Date.parse(o.as_of) / 1000;
  const minutes = times.map((t) => Math.max(10, Math.min(o.step_seconds, asOf - t)) / 60);
  const series = o.lanes.map((l) => ({
    name: l.lane,
    color: colors[l.lane],
    values: l.points.map((p, i) => (p.succeeded + p.failed) / (minutes[i] ?? 1)),
  }));
  return { times, series };
}
