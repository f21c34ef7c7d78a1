import { X } from "lucide-react";
import type { ReactNode } from "react";
import { formatCount } from "@/format";
import { IconButton } from "../Button";

/** The actions on selected rows. It floats, and Esc clears the selection. */
export function BulkBar({ count, children, onClear }: { count: number; children: ReactNode; onClear: () => void }) {
  return (
    <section
      aria-label="Actions on the selection"
      className="absolute bottom-12 left-1/2 z-20 flex h-11 -translate-x-1/2 items-center gap-1 rounded-card border border-line bg-raised px-3.5 shadow-float"
    >
      <span aria-live="polite" className="num mr-2 border-r border-line pr-3 font-medium whitespace-nowrap">
        {formatCount(count)} selected
      </span>
      {children}
      <IconButton icon={X} label="Clear the selection" hint="Esc" onClick={onClear} />
    </section>
  );
}
