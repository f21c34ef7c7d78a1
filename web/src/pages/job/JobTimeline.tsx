import { Ban, Hourglass, LogIn, Send, Timer, Wrench } from "lucide-react";
import { StateGlyph } from "@/components/StateGlyph";
import { Timeline, type TimelineRow } from "@/components/Timeline";
import { useNow } from "@/hooks/clock";
import type { Delivery } from "@/pages/webhooks/state";
import { hasEnded, type Item, type Job } from "./job";
import { waterfallOf } from "./timeline";

const icons = { Admit: LogIn, Queue: Hourglass, "Back-off": Timer, Work: Wrench, Deliver: Send } as const;

function iconOf(row: TimelineRow) {
  const Icon = icons[row.name as keyof typeof icons];
  if (Icon) return <Icon aria-hidden className="size-4" strokeWidth={1.75} />;
  return <StateGlyph state={row.kind === "failed" ? "failed" : row.to === undefined ? "running" : "succeeded"} />;
}

const legend = [
  { word: "working", className: "bg-water-solid" },
  { word: "waiting", className: "bg-slate-solid" },
  { word: "failed", className: "bg-red-solid" },
] as const;

/** Where the time of a job went. */
export function JobTimeline({ job, item, deliveries }: { job: Job; item: Item | undefined; deliveries: readonly Delivery[] }) {
  const now = useNow();
  const { rows, total } = waterfallOf(job, item, deliveries, now);
  return (
    <section aria-label="Timeline" className="px-4 py-3 md:px-6">
      <div className="mb-1 flex items-center justify-between">
        <h2 className="text-13 font-semibold">Timeline</h2>
        <span className="flex items-center gap-4 text-12 text-ink-2">
          {legend.map((l) => (
            <span key={l.word} className="flex items-center gap-1.5">
              <span aria-hidden className={`size-2 rounded-[2px] ${l.className}`} />
              {l.word}
            </span>
          ))}
        </span>
      </div>
      <Timeline rows={rows.map((r) => ({ ...r, icon: iconOf(r) }))} total={total} />
      {hasEnded(job) && job.status === "cancelled" && (
        <p className="mt-1 flex items-center gap-2 text-12 text-ink-3">
          <Ban aria-hidden className="size-4" strokeWidth={1.75} /> It was cancelled.
        </p>
      )}
    </section>
  );
}
