import type { ReactNode } from "react";
import type { Schemas } from "@/api";
import { Card } from "@/components/Card";
import { cn } from "@/components/cn";
import { LaneBars } from "@/components/LaneBars";
import { StatCard, StatRow } from "@/components/StatCard";
import { formatAmount, formatDuration, formatPercent, missing, plural, threeFigures } from "@/format";
import { type Better, type Run, tightest, verdict } from "./run";

type Row = Schemas["ForecastRow"];
type Target = Schemas["ForecastTarget"];

interface Figure<T> {
  title: string;
  value: (row: T) => number;
  format: (value: number) => string;
  better: Better;
}

const rate = (perSecond: number) => `${threeFigures(perSecond)}/s`;

const rowFigures: readonly Figure<Row>[] = [
  { title: "Wait p50", value: (r) => r.wait.p50_ms, format: formatDuration, better: "less" },
  { title: "p95", value: (r) => r.wait.p95_ms, format: formatDuration, better: "less" },
  { title: "p99", value: (r) => r.wait.p99_ms, format: formatDuration, better: "less" },
  { title: "Items", value: (r) => r.items_per_second, format: rate, better: "more" },
  { title: "Refused", value: (r) => r.refused, format: formatAmount, better: "less" },
  { title: "Failed", value: (r) => r.failed + r.expired, format: formatAmount, better: "less" },
  { title: "Waiting", value: (r) => r.waiting, format: formatAmount, better: "less" },
];

const targetFigures: readonly Figure<Target>[] = [
  { title: "Limit used", value: (t) => tightest(t.used)?.share ?? 0, format: formatPercent, better: "neither" },
  { title: "Calls", value: (t) => t.running, format: threeFigures, better: "neither" },
  { title: "Peak", value: (t) => t.peak, format: formatAmount, better: "neither" },
  { title: "Answers", value: (t) => t.items_per_second, format: rate, better: "more" },
  { title: "Latency p95", value: (t) => t.latency.p95_ms, format: formatDuration, better: "less" },
  { title: "429", value: (t) => t.limited, format: formatAmount, better: "less" },
  { title: "Errors", value: (t) => errorsOf(t), format: formatAmount, better: "less" },
];

function errorsOf(t: Target): number {
  const { rate_limited: limited = 0, ...rest } = t.errors as Record<string, number>;
  return Object.values(rest).reduce((sum, n) => sum + n, 0) + Math.max(0, limited - t.limited);
}

const tones = { good: "text-green", bad: "text-amber", same: "text-ink" } as const;

/** The figures of a run; with an earlier run, the earlier figure stands under each. */
export function Results({ run, before }: { run: Run; before: Run | undefined }) {
  const { result } = run;
  const old = before?.result;
  return (
    <>
      <StatRow label="The run">
        <StatCard
          label={plural(result.processes, "process", "processes")}
          value={formatAmount(result.slots)}
          unit="slots"
          change={was(old?.slots, result.slots, formatAmount)}
        />
        <StatCard
          label="Slots used"
          value={formatPercent(result.slots_used)}
          change={was(old?.slots_used, result.slots_used, formatPercent)}
        />
        <StatCard {...sumCard("Throughput", (r) => r.items_per_second, rate, result.lanes, old?.lanes)} />
        <StatCard {...sumCard("Refused", (r) => r.refused, formatAmount, result.lanes, old?.lanes)} />
        <StatCard {...sumCard("Failed", (r) => r.failed + r.expired, formatAmount, result.lanes, old?.lanes)} />
        <StatCard {...sumCard("Left waiting", (r) => r.waiting, formatAmount, result.lanes, old?.lanes)} />
      </StatRow>
      <FigureTable
        title="Lanes"
        figures={rowFigures}
        rows={result.lanes}
        before={old?.lanes}
        name={(r) => <LaneBars lane={r.lane} />}
        compared={before !== undefined}
      />
      <FigureTable
        title="Tenants"
        figures={rowFigures}
        rows={result.tenants}
        before={old?.tenants}
        name={(r) => r.name}
        compared={before !== undefined}
      />
      <FigureTable
        title="Targets"
        figures={targetFigures}
        rows={result.targets}
        before={old?.targets}
        name={(t) => t.name}
        compared={before !== undefined}
      />
    </>
  );
}

function was(before: number | undefined, now: number, format: (n: number) => string) {
  return before === undefined ? undefined : { text: before === now ? "as before" : `before ${format(before)}` };
}

/** A figure of all lanes together. The figures are counts of a simulation, not money: their sum may be made here. */
function sumCard(label: string, value: (r: Row) => number, format: (n: number) => string, rows: readonly Row[], old?: readonly Row[]) {
  const sum = (all: readonly Row[]) => all.reduce((total, r) => total + value(r), 0);
  return { label, value: format(sum(rows)), change: was(old && sum(old), sum(rows), format) };
}

interface FigureTableProps<T> {
  title: string;
  figures: readonly Figure<T>[];
  rows: readonly T[];
  before: readonly T[] | undefined;
  name: (row: T) => ReactNode;
  compared: boolean;
}

function FigureTable<T extends { name: string }>({ title, figures, rows, before, name, compared }: FigureTableProps<T>) {
  return (
    <Card title={title} note={compared ? "with the earlier run in grey" : undefined}>
      <section aria-label={`Figures of ${title.toLowerCase()}`} tabIndex={0} className="overflow-x-auto">
        <table className="w-full">
          <thead className="bg-sunken text-12 text-ink-2">
            <tr>
              <th scope="col" className="px-3.5 py-1.5 text-left font-normal">
                Name
              </th>
              {figures.map((f) => (
                <th key={f.title} scope="col" className="px-2.5 py-1.5 text-right font-normal whitespace-nowrap last:pr-3.5">
                  {f.title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => {
              const old = before?.find((b) => b.name === row.name);
              return (
                <tr key={row.name} className="border-t border-line align-top">
                  <th scope="row" className="max-w-56 truncate px-3.5 py-1.5 text-left font-normal">
                    {name(row)}
                  </th>
                  {figures.map((f) => (
                    <FigureCell key={f.title} figure={f} row={row} old={old} compared={compared} />
                  ))}
                </tr>
              );
            })}
          </tbody>
        </table>
      </section>
    </Card>
  );
}

function FigureCell<T>({ figure, row, old, compared }: { figure: Figure<T>; row: T; old: T | undefined; compared: boolean }) {
  const now = figure.value(row);
  const earlier = old && figure.value(old);
  return (
    <td className="num px-2.5 py-1.5 text-right whitespace-nowrap last:pr-3.5">
      <span className={cn(earlier !== undefined && tones[verdict(now, earlier, figure.better)])}>{figure.format(now)}</span>
      {compared && <span className="block text-12 text-ink-3">{earlier === undefined ? missing : figure.format(earlier)}</span>}
    </td>
  );
}
