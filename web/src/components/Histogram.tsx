import { type PointerEvent, useRef, useState } from "react";
import { formatClock, formatCount, formatDate, formatTime, type Zone } from "@/format";
import { usePreferences } from "@/hooks/preferences";
import { cn } from "./cn";

export interface HistogramSeries {
  name: string;
  /** The class of its colour. */
  className: string;
  values: readonly number[];
}

export interface HistogramProps {
  /** Names the chart for screen readers. */
  label: string;
  /** The start of the first bar and the length of a bar, in milliseconds. */
  from: number;
  step: number;
  /** Stacked, the first at the bottom. */
  series: readonly HistogramSeries[];
  /** A person dragged over bars: the times in milliseconds. */
  onSelect?: (from: number, to: number) => void;
  className?: string;
}

/** Small stacked bars over time; dragging selects a range. Screen readers get the bars that are not empty as a table. */
export function Histogram({ label, from, step, series, onSelect, className }: HistogramProps) {
  const { zone } = usePreferences();
  const box = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null);
  const count = series[0]?.values.length ?? 0;
  const bars = Array.from({ length: count }, (_, i) => ({
    i,
    at: from + i * step,
    sum: series.reduce((sum, s) => sum + (s.values[i] ?? 0), 0),
  }));
  const most = Math.max(1, ...bars.map((b) => b.sum));

  const barAt = (event: PointerEvent) => {
    const rect = box.current?.getBoundingClientRect();
    if (!rect) return 0;
    return Math.min(count - 1, Math.max(0, Math.floor(((event.clientX - rect.left) / rect.width) * count)));
  };
  const end = () => {
    if (drag && onSelect) {
      const [first, last] = [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)];
      onSelect(from + first * step, from + (last + 1) * step);
    }
    setDrag(null);
  };
  const inDrag = (i: number) => drag !== null && i >= Math.min(drag.from, drag.to) && i <= Math.max(drag.from, drag.to);
  const said = (i: number) =>
    series
      .filter((s) => (s.values[i] ?? 0) > 0)
      .map((s) => `${formatCount(s.values[i])} ${s.name}`)
      .join(", ") || "none";
  const timeOf = (at: number) => formatTime(new Date(at).toISOString(), zone);

  return (
    <figure aria-label={label} className={cn("relative select-none", className)}>
      <div
        ref={box}
        aria-hidden
        className={cn("flex h-9 touch-none items-end gap-px border-b border-line", onSelect && "cursor-crosshair")}
        onPointerDown={(e) => {
          if (!onSelect || e.button !== 0) return;
          e.currentTarget.setPointerCapture(e.pointerId);
          setDrag({ from: barAt(e), to: barAt(e) });
        }}
        onPointerMove={(e) => drag && setDrag({ ...drag, to: barAt(e) })}
        onPointerUp={end}
        onPointerCancel={() => setDrag(null)}
      >
        {bars.map(({ i, at, sum }) => (
          <div
            key={at}
            title={`${timeOf(at)}: ${said(i)}`}
            className={cn("flex h-full min-w-0 flex-1 flex-col-reverse hover:bg-hover", inDrag(i) && "bg-accent-tint")}
          >
            {series.map((s) => {
              const n = s.values[i] ?? 0;
              if (n === 0) return null;
              return <div key={s.name} className={cn("min-h-px w-full", s.className)} style={{ height: `${(100 * n) / most}%` }} />;
            })}
            {sum === 0 && <div className="h-px w-full bg-line" />}
          </div>
        ))}
      </div>
      <Ticks from={from} span={step * count} zone={zone} />
      <table className="sr-only">
        <caption>{label}</caption>
        <thead>
          <tr>
            <th scope="col">From</th>
            <th scope="col">Count</th>
          </tr>
        </thead>
        <tbody>
          {bars.map(({ i, at, sum }) =>
            sum === 0 ? null : (
              <tr key={at}>
                <th scope="row">{timeOf(at)}</th>
                <td>{said(i)}</td>
              </tr>
            ),
          )}
        </tbody>
      </table>
    </figure>
  );
}

/** Times under the bars: the clock within two days, the date beyond. */
function Ticks({ from, span, zone }: { from: number; span: number; zone: Zone }) {
  const text = (ms: number) => (span < 2 * 86_400_000 ? formatClock(ms, zone).slice(0, 5) : formatDate(new Date(ms).toISOString(), zone));
  return (
    <div aria-hidden className="num flex justify-between pt-0.5 text-11 text-ink-3">
      {[0, 1, 2, 3, 4, 5, 6].map((i) => (
        <span key={i} className={cn(i % 2 === 1 && "max-md:hidden")}>
          {text(from + (span * i) / 6)}
        </span>
      ))}
    </div>
  );
}
