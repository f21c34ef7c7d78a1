import type { Schemas } from "@/api";
import { Histogram } from "@/components/Histogram";
import { Skeleton } from "@/components/Skeleton";
import { type Range, rangeText } from "@/frame/range";

type Summary = Schemas["JobSummary"];

const looks = [
  { name: "succeeded", className: "bg-green-line" },
  { name: "cancelled", className: "bg-slate-line" },
  { name: "queued", className: "bg-slate-solid" },
  { name: "running", className: "bg-water-solid" },
  { name: "failed", className: "bg-red-solid" },
] as const;

/** When the listed jobs were created, by their current status. Dragging sets the range. */
export function JobHistogram(props: { summary: Summary | undefined; status: string | undefined; onRange: (range: Range) => void }) {
  const chart = props.summary?.histogram;
  if (!props.summary) return <Skeleton className="h-[54px] w-full" />;
  if (!chart || props.summary.total === 0) return null;
  const shown = looks.filter((l) => !props.status || l.name === props.status);
  return (
    <Histogram
      label="Jobs over time"
      from={Date.parse(chart.from)}
      step={chart.bucket_seconds * 1000}
      series={shown.map((l) => ({ ...l, values: chart.buckets.map((b) => b[l.name]) }))}
      onSelect={(from, to) => props.onRange(rangeText(new Date(from).toISOString(), new Date(to).toISOString()))}
    />
  );
}
