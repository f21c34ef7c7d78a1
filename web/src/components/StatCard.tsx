import type { ReactNode } from "react";
import { cn } from "./cn";

/** The change under a number; worse changes are amber or red. */
export interface Change {
  text: string;
  tone?: "plain" | "warn" | "bad" | "good";
}

const tones = { plain: "text-ink-3", warn: "text-amber", bad: "text-red", good: "text-green" } as const;

export interface StatCardProps {
  label: string;
  value: ReactNode;
  unit?: string;
  change?: Change | undefined;
  /** A sparkline or a meter at the right. */
  chart?: ReactNode;
}

/** Label, number, change, sparkline. Figures never count up. */
export function StatCard({ label, value, unit, change, chart }: StatCardProps) {
  return (
    <div className="flex min-w-0 flex-col gap-0.5 bg-surface px-3.5 py-2.5">
      <dt className="truncate text-12 text-ink-3">{label}</dt>
      <dd className="truncate text-22 font-semibold tracking-tight">
        {value}
        {unit && <span className="ml-0.5 text-12 font-normal tracking-normal text-ink-3">{unit}</span>}
      </dd>
      <dd className="flex h-6 items-end justify-between gap-2">
        <span className={cn("truncate text-12", tones[change?.tone ?? "plain"])}>{change?.text}</span>
        {chart}
      </dd>
    </div>
  );
}

/** Stats side by side in one card. */
export function StatRow({ children, label }: { children: ReactNode; label: string }) {
  return (
    <dl
      aria-label={label}
      className="grid grid-cols-2 gap-px overflow-hidden rounded-card border border-line bg-line md:grid-cols-3 xl:grid-cols-6"
    >
      {children}
    </dl>
  );
}
