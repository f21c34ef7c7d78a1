import { useMemo } from "react";
import { Chart, type Series, type SeriesColor } from "@/components/Chart";
import { Skeleton } from "@/components/Skeleton";
import { ErrorPanel } from "@/components/States";
import { costForDrawing, formatAmount, formatCost } from "@/format";
import { draggedDays, eachDay } from "@/frame/days";
import { type Dimension, dimensionWord, type Line, noValue, valueIn } from "./dimension";
import { type Report, useReport, useScope } from "./query";
import type { Measure } from "./route";

const colors: readonly SeriesColor[] = ["water", "violet", "amber", "pink", "lime"];

const measureOf: Record<Measure, { title: string; value: (line: Line) => number; format: (value: number) => string }> = {
  cost: { title: "Cost per day", value: (l) => costForDrawing(l.cost_usd), format: (v) => formatCost(v.toFixed(9)) },
  requests: { title: "Requests per day", value: (l) => l.requests, format: formatAmount },
  input: { title: "Tokens in per day", value: (l) => l.input_tokens, format: formatAmount },
  output: { title: "Tokens out per day", value: (l) => l.output_tokens, format: formatAmount },
};

/** One series for each of the dearest values, the dearest at the bottom; the line "other" of the server is the last. */
export function seriesOf(report: Report, dimension: Dimension, value: (line: Line) => number): { times: number[]; series: Series[] } {
  const days = eachDay(report);
  const byName = new Map<string, { values: number[]; sum: number; other: boolean }>();
  for (const line of report.data) {
    const name = line.other ? "Other" : valueIn(line, dimension) || noValue(dimension);
    const found = byName.get(name) ?? { values: days.map(() => 0), sum: 0, other: Boolean(line.other) };
    const at = days.indexOf(line.day ?? "");
    if (at >= 0) found.values[at] = value(line);
    found.sum += value(line); // for the order only
    byName.set(name, found);
  }
  const series = [...byName]
    .sort(([, a], [, b]) => Number(a.other) - Number(b.other) || b.sum - a.sum)
    .map(([name, { values, other }], i): Series => ({ name, values, color: other ? "slate" : (colors[i] ?? "slate") }));
  return { times: series.length > 0 ? days.map((d) => Date.parse(d) / 1000) : [], series };
}

/** Stacked bars per day. A drag chooses the days. */
export function UsageChart({ dimension, measure, onRange }: { dimension: Dimension; measure: Measure; onRange: (r: string) => void }) {
  const scope = useScope();
  const report = useReport({ ...scope, group_by: `day,${dimension}`, top: "5" });
  const { title, value, format } = measureOf[measure];
  const drawn = useMemo(() => (report.data ? seriesOf(report.data, dimension, value) : null), [report.data, dimension, value]);
  if (report.error) return <ErrorPanel error={report.error} onRetry={() => void report.refetch()} />;
  if (!drawn) return <Skeleton className="h-[236px] rounded-card" />;
  return (
    <Chart
      title={title}
      note={`by ${dimensionWord(dimension).toLowerCase()}`}
      times={drawn.times}
      series={drawn.series}
      stacked
      days
      height={184}
      format={format}
      onSelect={(from, to) => onRange(draggedDays(from, to))}
      empty="Nothing was used in this range."
    />
  );
}
