import { useQuery } from "@tanstack/react-query";
import { read } from "@/api";
import { Cost } from "@/components/Cost";
import { Skeleton, useSlow } from "@/components/Skeleton";
import { Sparkline } from "@/components/Sparkline";
import { StatCard, StatRow } from "@/components/StatCard";
import { costForDrawing, formatCost, formatCount, formatDuration, formatPercent } from "@/format";
import { latencyChange, measured, type Overview, rateChange, rateIn, successChange } from "./figures";

const goodSuccess = 0.98;

/** The six numbers of the page. */
export function Stats({ tenant, overview: o }: { tenant: string | null; overview: Overview }) {
  const one = useQuery({ ...read(tenant, "/v1/load"), enabled: tenant !== null });
  const every = useQuery({ ...read(null, "/admin/v1/load"), enabled: tenant === null });
  const oldest = (tenant === null ? every.data : one.data)?.total.oldest_seconds;
  const waiting = o.queue_depth.value ?? 0;
  const poor = o.success_rate.value !== null && o.success_rate.value < goodSuccess;
  return (
    <StatRow label="Figures">
      <StatCard
        label="Requests"
        {...rateIn(o.requests_per_second.value)}
        change={rateChange(o.requests_per_second)}
        chart={<Sparkline values={measured(o.requests_per_second.series)} />}
      />
      <StatCard
        label="Jobs"
        {...rateIn(o.jobs_per_second.value)}
        change={rateChange(o.jobs_per_second)}
        chart={<Sparkline values={measured(o.jobs_per_second.series)} />}
      />
      <StatCard
        label="Success rate"
        value={formatPercent(o.success_rate.value)}
        change={successChange(o.success_rate)}
        chart={<Sparkline values={measured(o.success_rate.series)} hue={poor ? "amber" : "water"} />}
      />
      <StatCard
        label="Latency p95"
        value={formatDuration(o.p95_latency_ms.value)}
        change={latencyChange(o.p95_latency_ms)}
        chart={<Sparkline values={measured(o.p95_latency_ms.series)} />}
      />
      <StatCard
        label="Spend today (UTC)"
        value={<Cost usd={o.spend.today_usd} what="settled" />}
        change={{ text: `yesterday ${formatCost(o.spend.yesterday_usd)}` }}
        chart={<Sparkline values={o.spend.series_usd.map(costForDrawing)} />}
      />
      <StatCard
        label="Waiting"
        value={formatCount(waiting)}
        unit={waiting === 1 ? "item" : "items"}
        change={waiting > 0 && oldest ? { text: `oldest ${formatDuration(oldest * 1000)}` } : undefined}
        chart={<Sparkline values={measured(o.queue_depth.series)} hue="slate" />}
      />
    </StatRow>
  );
}

export function StatsSkeleton() {
  const slow = useSlow(true);
  const labels = ["Requests", "Jobs", "Success rate", "Latency p95", "Spend today (UTC)", "Waiting"];
  return (
    <StatRow label="Figures">
      {labels.map((label) => (
        <StatCard key={label} label={label} value={slow ? <Skeleton className="my-2 h-3 w-16" /> : " "} />
      ))}
    </StatRow>
  );
}
