import type { ReactNode } from "react";
import { cn } from "./cn";

export type Hue = "slate" | "water" | "green" | "red" | "amber" | "violet";

export const hueChip: Record<Hue, string> = {
  slate: "bg-slate-tint text-slate",
  water: "bg-water-tint text-water",
  green: "bg-green-tint text-green",
  red: "bg-red-tint text-red",
  amber: "bg-amber-tint text-amber",
  violet: "bg-violet-tint text-violet",
};

export const hueText: Record<Hue, string> = {
  slate: "text-slate",
  water: "text-water",
  green: "text-green",
  red: "text-red",
  amber: "text-amber",
  violet: "text-violet",
};

export const hueSolid: Record<Hue, string> = {
  slate: "bg-slate-solid",
  water: "bg-water-solid",
  green: "bg-green-solid",
  red: "bg-red-solid",
  amber: "bg-amber-solid",
  violet: "bg-violet-solid",
};

/** A label, an arm, a tag or a severity. States are glyphs, not chips. */
export function Chip({ children, hue = "slate", mono, className }: { children: ReactNode; hue?: Hue; mono?: boolean; className?: string }) {
  return (
    <span
      className={cn(
        "inline-flex h-[18px] max-w-full items-center gap-1 truncate rounded-chip px-1.5 text-11 font-medium",
        mono && "font-mono",
        hueChip[hue],
        className,
      )}
    >
      {children}
    </span>
  );
}
