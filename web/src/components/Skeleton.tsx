import { useEffect, useState } from "react";
import { cn } from "./cn";

/** Whether a load has lasted 150 ms: shorter ones show nothing, so that nothing flickers. */
export function useSlow(loading: boolean): boolean {
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    if (!loading) {
      setSlow(false);
      return;
    }
    const timer = setTimeout(() => setSlow(true), 150);
    return () => clearTimeout(timer);
  }, [loading]);
  return loading && slow;
}

/** A block in the place of text that loads. */
export function Skeleton({ className }: { className?: string }) {
  return <span aria-hidden className={cn("block h-3 rounded-chip bg-hover", className)} />;
}

/** The line of 2 px over data that is read again. It keeps its place when nothing is read. */
export function RefetchLine({ active }: { active: boolean }) {
  const slow = useSlow(active);
  return (
    <div aria-hidden className="pointer-events-none sticky top-0 z-10 -mb-0.5 h-0.5 overflow-hidden">
      {slow && <div className="h-full w-1/3 animate-sweep bg-accent" />}
    </div>
  );
}
