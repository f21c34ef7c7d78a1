import { cn } from "./cn";

const heights = { realtime: 3, standard: 2, bulk: 1 } as const;

/** A lane: three rising bars, of which realtime fills 3, standard 2, bulk 1. */
export function LaneBars({ lane, showName = true }: { lane: string; showName?: boolean }) {
  const filled = heights[lane as keyof typeof heights] ?? 0;
  return (
    <span className="inline-flex items-center gap-1.5 text-ink-2">
      <svg viewBox="0 0 12 12" className="size-3 shrink-0" {...(showName ? { "aria-hidden": true } : { role: "img", "aria-label": lane })}>
        {[0, 1, 2].map((i) => (
          <rect
            key={i}
            x={i * 4.4}
            y={8.5 - i * 3.6}
            width="2.8"
            height={3.5 + i * 3.6}
            rx="0.8"
            className={cn(i < filled ? "fill-ink-2" : "fill-line-2")}
          />
        ))}
      </svg>
      {showName && <span className="truncate">{lane}</span>}
    </span>
  );
}
