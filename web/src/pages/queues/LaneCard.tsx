import type { ReactNode } from "react";
import { cn } from "@/components/cn";
import { ControlNote } from "@/components/control/ControlNote";
import type { Control } from "@/components/control/control";
import { LaneBars } from "@/components/LaneBars";
import { Skeleton } from "@/components/Skeleton";
import { formatCount, formatDuration, formatRate, missing, plural } from "@/format";
import { emptyIn, oldest, type Row, waiting } from "./load";

export interface LaneCardProps {
  row: Row;
  control?: Control | null | undefined;
  /** Pause or Resume. */
  action?: ReactNode;
}

/** A lane: how deep it is, how old its first item is, and how fast it moves. */
export function LaneCard({ row, control, action }: LaneCardProps) {
  return (
    <section
      aria-label={`Lane ${row.name}`}
      className={cn("flex min-w-0 flex-col rounded-card border bg-surface", control ? "border-amber-line" : "border-line")}
    >
      <div className="flex min-h-11 items-center gap-2 border-b border-line px-3.5">
        <h2 className="text-13 font-semibold">
          <LaneBars lane={row.name} />
        </h2>
        <div className="ml-auto">{action}</div>
      </div>
      <div className="flex flex-wrap items-baseline gap-x-2 px-3.5 pt-2.5">
        <span className="text-22 font-semibold tracking-tight">{formatCount(waiting(row))}</span>
        <span className="text-12 text-ink-3">{waiting(row) === 1 ? "item waits" : "items wait"}</span>
        {row.parked > 0 && <span className="ml-auto text-12 text-ink-3">{formatCount(row.parked)} not ready yet</span>}
      </div>
      <dl className="grid grid-cols-3 gap-x-3 gap-y-1.5 px-3.5 pt-2 pb-3">
        <Fact name="Oldest" value={oldest(row)} />
        <Fact name="Running" value={formatCount(row.running)} />
        <Fact name="Empty in" value={emptyIn(row)} />
        <Fact name="Arriving" value={formatRate(row.arrivals_per_second)} />
        <Fact name="Starting" value={formatRate(row.items_per_second)} />
        <Fact name="Item takes" value={row.service_seconds === null ? missing : formatDuration(row.service_seconds * 1000)} />
      </dl>
      {control && (
        <div className="rounded-b-card border-t border-amber-line bg-amber-tint px-3.5 py-1.5">
          <ControlNote control={control} />
        </div>
      )}
    </section>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div className="min-w-0">
      <dt className="truncate text-12 text-ink-3">{name}</dt>
      <dd className="num truncate">{value}</dd>
    </div>
  );
}

/** The three cards side by side; under 768 px one below the other. */
export function LaneGrid({ children }: { children: ReactNode }) {
  return <div className="grid gap-4 md:grid-cols-3">{children}</div>;
}

export function LaneSkeletons() {
  return (
    <LaneGrid>
      {["realtime", "standard", "bulk"].map((lane) => (
        <div key={lane} className="flex h-[184px] flex-col gap-4 rounded-card border border-line p-3.5">
          <Skeleton className="w-24" />
          <Skeleton className="h-6 w-16" />
          <Skeleton className="w-3/4" />
          <Skeleton className="w-2/3" />
        </div>
      ))}
    </LaneGrid>
  );
}

/** The sentence beside the title: how much waits and runs. */
export function loadWords(row: Pick<Row, "ready" | "parked" | "running">): string {
  return `${plural(waiting(row), "item")} waiting, ${formatCount(row.running)} running`;
}
