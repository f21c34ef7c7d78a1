import { ArrowUp } from "lucide-react";
import type { RefObject } from "react";
import { formatCount } from "@/format";

interface FreshRowsProps {
  count: number;
  /** There are more than were counted. */
  more: boolean;
  scroller: RefObject<HTMLDivElement | null>;
}

/** "38 new", over a list that is scrolled down. It goes to the top, where new rows insert. */
export function FreshRows({ count, more, scroller }: FreshRowsProps) {
  if (count === 0) return null;
  return (
    <button
      type="button"
      onClick={() => scroller.current?.scrollTo({ top: 0 })}
      className="absolute top-10 left-1/2 z-20 inline-flex h-7 -translate-x-1/2 items-center gap-1.5 rounded-full border border-accent-line bg-raised px-3 text-12 font-medium text-accent shadow-float hover:bg-hover"
    >
      <ArrowUp aria-hidden className="size-3.5" strokeWidth={1.75} />
      <span aria-live="polite" className="num">
        {formatCount(count)}
        {more && "+"} new
      </span>
    </button>
  );
}
