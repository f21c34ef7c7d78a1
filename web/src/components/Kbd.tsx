import type { ReactNode } from "react";
import { cn } from "./cn";

/** A key of the keyboard. */
export function Kbd({ children, on = "surface" }: { children: ReactNode; on?: "surface" | "accent" }) {
  return (
    <kbd
      className={cn(
        "inline-flex h-[18px] min-w-[18px] items-center justify-center rounded-chip border px-1 font-sans text-11 font-medium",
        on === "accent" ? "border-on-accent/40 text-on-accent" : "border-line-2 bg-surface text-ink-2",
      )}
    >
      {children}
    </kbd>
  );
}
