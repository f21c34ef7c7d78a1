import type { ReactNode } from "react";
import { formatDuration } from "@/format";
import { cn } from "./cn";

export interface TimelineRow {
  id: string;
  icon?: ReactNode;
  name: string;
  note?: string;
  /** Milliseconds from the start of the timeline; `to` absent: it still runs. */
  from: number;
  to?: number | undefined;
  kind: "working" | "waiting" | "failed" | "checked" | "backoff";
  /** The first part of a working bar until its first token, paler. */
  first?: number | undefined;
  /** Words beside the bar. */
  label?: string | undefined;
  /** Words at the right instead of the duration. */
  took?: string;
}

const bars: Record<TimelineRow["kind"], string> = {
  working: "bg-water-solid",
  waiting: "bg-slate-solid",
  failed: "bg-red-solid",
  checked: "bg-green-solid",
  backoff: "hatch border border-slate-line",
};

/** Ticks at round times: four to eight of them. */
export function ticksFor(totalMs: number): number[] {
  const rough = totalMs / 6;
  const magnitude = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  const step = [1, 2, 5, 10].map((m) => m * magnitude).find((s) => s >= rough) ?? 10 * magnitude;
  return Array.from({ length: Math.floor(totalMs / step) + 1 }, (_, i) => i * step);
}

/** The time of a tick in the unit of the step: `0 ms` `200 ms`, `0 s` `1 s`, and durations beyond a minute. */
function tickText(ms: number, step: number): string {
  if (step >= 60_000) return formatDuration(ms);
  return step < 1000 ? `${ms} ms` : `${ms / 1000} s`;
}

/** A waterfall: slate waits, hatch backs off, water works, red failed. Each row says its times in text too. */
export function Timeline({ rows, total }: { rows: readonly TimelineRow[]; total: number }) {
  const span = Math.max(1, total);
  const at = (ms: number) => `${Math.min(100, (100 * ms) / span)}%`;
  const ticks = ticksFor(span);
  return (
    <div className="grid grid-cols-[minmax(120px,208px)_1fr_72px] text-13">
      <div />
      <div aria-hidden className="relative h-6">
        {ticks.map((t) => (
          <span
            key={t}
            className="num absolute -translate-x-1/2 text-12 whitespace-nowrap text-ink-3 first:translate-x-0 max-md:even:hidden"
            style={{ left: at(t) }}
          >
            {tickText(t, ticks[1] ?? span)}
          </span>
        ))}
      </div>
      <div />
      {rows.map((row) => {
        const end = row.to ?? span;
        return (
          <div key={row.id} className="col-span-3 grid min-h-[27px] grid-cols-subgrid items-center">
            <span className="flex min-w-0 items-center gap-2">
              <span className="flex w-4 shrink-0 justify-center text-ink-3">{row.icon}</span>
              <span className="truncate">
                <span className="font-medium">{row.name}</span> <span className="text-12 text-ink-3">{row.note}</span>
              </span>
            </span>
            <span className="relative h-full border-l border-line">
              {ticks.slice(1).map((t) => (
                <span key={t} aria-hidden className="absolute inset-y-0 w-px bg-line" style={{ left: at(t) }} />
              ))}
              <span
                aria-hidden
                className={cn("absolute top-1/2 h-2.5 min-w-0.5 -translate-y-1/2 overflow-hidden rounded-[2px]", bars[row.kind])}
                style={{ left: at(row.from), width: at(Math.max(0, end - row.from)) }}
              >
                {row.first !== undefined && (
                  <span
                    className="absolute inset-y-0 left-0 bg-water-line"
                    style={{ width: `${(100 * (row.first - row.from)) / Math.max(1, end - row.from)}%` }}
                  />
                )}
              </span>
              {row.label && <RowLabel row={row} end={end} span={span} />}
            </span>
            <span className={cn("num text-right text-12", row.kind === "failed" ? "text-red" : "text-ink-2")}>
              {row.took ?? formatDuration(end - row.from)}
            </span>
          </div>
        );
      })}
    </div>
  );
}

/** Right of the bar where there is space, otherwise left of it; a bar that fills the row has no label. */
function RowLabel({ row, end, span }: { row: TimelineRow; end: number; span: number }) {
  const right = end / span < 0.6;
  if (!right && row.from / span < 0.25) return null;
  return (
    <span
      className={cn(
        "absolute top-1/2 -translate-y-1/2 px-2 text-12 whitespace-nowrap max-md:hidden",
        row.kind === "failed" ? "text-red" : "text-water",
      )}
      style={right ? { left: `${(100 * end) / span}%` } : { right: `${100 - (100 * row.from) / span}%` }}
    >
      {row.label}
    </span>
  );
}
