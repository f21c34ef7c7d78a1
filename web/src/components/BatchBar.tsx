import type { Schemas } from "@/api";
import { formatCount } from "@/format";
import { cn } from "./cn";

export type Counts = Schemas["Counts"];

const parts = [
  { name: "succeeded", className: "bg-green-solid" },
  { name: "failed", className: "bg-red-solid" },
  { name: "cancelled", className: "bg-slate-solid" },
  { name: "expired", className: "bg-amber-solid" },
  { name: "running", className: "bg-water-solid" },
] as const;

/** The items of a job by state; slivers are at least 2 px, and the queued rest stays empty. */
export function BatchBar({ counts, className }: { counts: Counts; className?: string }) {
  const said = [...parts.map((p) => p.name), "queued" as const]
    .filter((name) => counts[name] > 0)
    .map((name) => `${formatCount(counts[name])} ${name}`);
  return (
    <div
      role="img"
      aria-label={`${said.join(", ")} of ${formatCount(counts.total)}`}
      className={cn("flex h-1.5 gap-px overflow-hidden rounded-full bg-line", className)}
    >
      {parts.map(
        ({ name, className: hue }) =>
          counts[name] > 0 && (
            <span key={name} className={cn("min-w-0.5", hue)} style={{ width: `${(100 * counts[name]) / Math.max(1, counts.total)}%` }} />
          ),
      )}
    </div>
  );
}

/** A share of a limit. Past `warnAt` it turns amber, past the whole red. */
export function Meter({ share, label, warnAt = 0.9, className }: { share: number; label: string; warnAt?: number; className?: string }) {
  const hue = share > 1 ? "bg-red-solid" : share >= warnAt ? "bg-amber-solid" : "bg-water-solid";
  return (
    <div role="img" aria-label={label} className={cn("h-1.5 overflow-hidden rounded-full bg-line", className)}>
      <div className={cn("h-full rounded-full", hue)} style={{ width: `${Math.min(100, Math.max(0, share * 100))}%` }} />
    </div>
  );
}
