import { cn } from "./cn";

/** How full something is. Over 80% it is amber, used up it is red; the words beside it say the same. */
export function Meter({ label, share, held = 0, className }: { label: string; share: number; held?: number; className?: string }) {
  const used = Math.min(1, Math.max(0, share));
  const reserved = Math.min(1 - used, Math.max(0, held));
  const full = share + held;
  const tone = full >= 1 ? "bg-red-solid" : full >= 0.8 ? "bg-amber-solid" : "bg-water-solid";
  return (
    // biome-ignore lint/a11y/useSemanticElements: the parts of a meter element cannot be styled alike in all browsers.
    <span
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(used * 100)}
      className={cn("inline-flex h-1.5 w-16 shrink-0 overflow-hidden rounded-full bg-slate-tint", className)}
    >
      <span className={cn("h-full", tone)} style={{ width: `${used * 100}%` }} />
      <span className={cn("h-full opacity-50", tone)} style={{ width: `${reserved * 100}%` }} />
    </span>
  );
}
