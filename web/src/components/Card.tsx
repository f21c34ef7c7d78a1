import type { ReactNode } from "react";
import { cn } from "./cn";

export interface CardProps {
  title?: ReactNode;
  /** In grey, beside the title. */
  note?: ReactNode;
  /** At the right end of the head: a link or a small control. */
  aside?: ReactNode;
  children: ReactNode;
  className?: string;
}

/** A titled block with a line around it and no shadow. */
export function Card({ title, note, aside, children, className }: CardProps) {
  return (
    <section className={cn("min-w-0 overflow-hidden rounded-card border border-line bg-surface", className)}>
      {title && (
        <div className="flex min-h-11 items-center gap-2 border-b border-line px-3.5">
          <h2 className="min-w-0 truncate text-13 font-semibold">{title}</h2>
          {note && <span className="min-w-0 shrink-[99] truncate text-12 text-ink-3 max-md:hidden">{note}</span>}
          <div className="ml-auto flex shrink-0 items-center gap-2">{aside}</div>
        </div>
      )}
      {children}
    </section>
  );
}
