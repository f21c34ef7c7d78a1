import { Table2 } from "lucide-react";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { formatDate, formatTime } from "@/format";
import { usePreferences } from "@/hooks/preferences";
import { IconButton } from "./Button";
import { Card } from "./Card";
import { cn } from "./cn";
import { Skeleton } from "./Skeleton";

const Plot = lazy(() => import("./chart/Plot").then((m) => ({ default: m.Plot })));

/** The colours of charts, in their order; then "other". Baseline is slate, candidate violet. */
export type SeriesColor = "water" | "violet" | "amber" | "pink" | "lime" | "slate" | "green" | "red";

export interface Series {
  name: string;
  color: SeriesColor;
  /** One value for each time; null where nothing is known. */
  values: readonly (number | null)[];
}

/** A moment that the chart marks. */
export interface Mark {
  at: number; // Unix seconds
  text: string;
  color: SeriesColor;
}

export interface ChartProps {
  title: string;
  note?: string;
  /** Unix seconds, rising. */
  times: readonly number[];
  series: readonly Series[];
  stacked?: boolean;
  /** One bar for each time, which is the start of a day of UTC. */
  days?: boolean;
  height?: number;
  marks?: readonly Mark[];
  /** The words of a value, on the axis and in the table. */
  format: (value: number) => string;
  /** A person dragged over the chart: the times in Unix seconds. */
  onSelect?: (from: number, to: number) => void;
  /** In the place of the chart, when there is nothing to draw. */
  empty?: ReactNode;
}

export const swatch: Record<SeriesColor, string> = {
  water: "bg-water-solid",
  violet: "bg-violet-solid",
  amber: "bg-amber-solid",
  pink: "bg-pink-solid",
  lime: "bg-lime-solid",
  slate: "bg-slate-solid",
  green: "bg-green-solid",
  red: "bg-red-solid",
};

/** Lines, stacked areas or stacked bars over time, with a table of the same numbers beside. */
export function Chart(props: ChartProps) {
  const [table, setTable] = useState(false);
  const { title, note, times, series, height = 176 } = props;
  return (
    <Card
      title={title}
      note={note}
      aside={
        <>
          <span className="hidden items-center gap-3 text-12 text-ink-2 md:flex">
            {series.map((s) => (
              <span key={s.name} className="flex items-center gap-1.5 whitespace-nowrap">
                <span aria-hidden className={cn("size-2 rounded-[2px]", swatch[s.color])} />
                {s.name}
                {!props.days && <Last values={s.values} format={props.format} />}
              </span>
            ))}
          </span>
          <IconButton
            small
            icon={Table2}
            label={table ? "Show the chart" : "Show the numbers"}
            aria-pressed={table}
            onClick={() => setTable(!table)}
          />
        </>
      }
    >
      {times.length === 0 ? (
        <div className="flex items-center justify-center p-4 text-ink-3" style={{ minHeight: height }}>
          {props.empty ?? "Nothing in this range."}
        </div>
      ) : table ? (
        <NumberTable {...props} height={height} />
      ) : (
        <div className="px-1 pt-2" style={{ height: height + 8 }}>
          <Suspense fallback={<Skeleton className="m-4 h-4/5" />}>
            <Plot {...props} height={height} />
          </Suspense>
        </div>
      )}
    </Card>
  );
}

function Last({ values, format }: { values: readonly (number | null)[]; format: (value: number) => string }) {
  const last = values.at(-1);
  return last == null ? null : <span className="num font-medium text-ink">{format(last)}</span>;
}

function NumberTable({ title, times, series, format, height, days }: ChartProps & { height: number }) {
  const { zone } = usePreferences();
  const word = (seconds: number) => {
    const iso = new Date(seconds * 1000).toISOString();
    return days ? formatDate(iso, "utc") : formatTime(iso, zone);
  };
  return (
    <section aria-label={title} tabIndex={0} className="overflow-auto" style={{ maxHeight: height + 8 }}>
      <table className="w-full text-12">
        <thead className="sticky top-0 bg-sunken text-ink-2">
          <tr>
            <th scope="col" className="px-3.5 py-1.5 text-left font-normal">
              {days ? "Day (UTC)" : "Time"}
            </th>
            {series.map((s) => (
              <th key={s.name} scope="col" className="px-3.5 py-1.5 text-right font-normal">
                {s.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times.map((t, i) => (
            <tr key={t} className="border-t border-line">
              <th scope="row" className="num px-3.5 py-1 text-left font-normal">
                {word(t)}
              </th>
              {series.map((s) => {
                const value = s.values[i];
                return (
                  <td key={s.name} className="num px-3.5 py-1 text-right">
                    {value == null ? "–" : format(value)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
