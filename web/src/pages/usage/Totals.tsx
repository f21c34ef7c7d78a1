import type { Schemas } from "@/api";
import { Cost } from "@/components/Cost";
import { Skeleton } from "@/components/Skeleton";
import { Sparkline } from "@/components/Sparkline";
import { StatCard, StatRow } from "@/components/StatCard";
import { ErrorPanel } from "@/components/States";
import { costForDrawing, formatAmount, formatCost, formatPercent } from "@/format";
import type { useMonth } from "./query";

type Sum = Schemas["Sum"];

const wait = <Skeleton className="my-2 h-4 w-20" />;

/** The totals of the range, and the month with its forecast. All of them are sums of the server. */
export function Totals({ total, month, filtered }: { total: Sum | undefined; month: ReturnType<typeof useMonth>; filtered: boolean }) {
  if (month.error) return <ErrorPanel error={month.error} onRetry={() => void month.refetch()} />;
  const m = month.data;
  const all = filtered ? "without filters" : undefined;
  return (
    <StatRow label="Totals">
      <StatCard
        label={filtered ? "Cost, filtered" : "Cost of the range"}
        value={total ? <Cost usd={total.cost_usd} what="settled" /> : wait}
        change={total && Number(total.forfeit_usd) > 0 ? { text: `and ${formatCost(total.forfeit_usd)} forfeit` } : undefined}
      />
      <StatCard
        label="This month so far"
        value={m ? <Cost usd={m.spent_usd} what="settled" /> : wait}
        change={all ? { text: all } : undefined}
        chart={m && !filtered && <Sparkline values={m.days.filter((d) => !d.expected).map((d) => costForDrawing(d.cost_usd))} />}
      />
      <StatCard
        label={m ? `Forecast, ${monthName(m.month)}` : "Forecast"}
        value={m ? <Cost usd={m.forecast_usd} /> : wait}
        change={m ? { text: `${formatCost(m.low_usd)} to ${formatCost(m.high_usd)}` } : undefined}
      />
      <StatCard label="Requests" value={total ? formatAmount(total.requests) : wait} change={{ text: "calls and items" }} />
      <StatCard
        label="Tokens in"
        value={total ? formatAmount(total.input_tokens) : wait}
        change={total ? { text: `${formatPercent(share(total.cached_input_tokens, total.input_tokens))} cached` } : undefined}
      />
      <StatCard label="Tokens out" value={total ? formatAmount(total.output_tokens) : wait} />
    </StatRow>
  );
}

function share(part: number, whole: number): number {
  return whole > 0 ? part / whole : 0;
}

function monthName(month: string): string {
  return new Date(`${month}-01T00:00:00Z`).toLocaleString("en-GB", { month: "short", timeZone: "UTC" });
}
