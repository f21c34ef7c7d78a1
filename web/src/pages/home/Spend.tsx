import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { read, type Schemas } from "@/api";
import { Card } from "@/components/Card";
import { Cost } from "@/components/Cost";
import { cn } from "@/components/cn";
import { Skeleton } from "@/components/Skeleton";
import { ErrorPanel } from "@/components/States";
import { Tip } from "@/components/Tooltip";
import { costShare, formatCost, formatPercent } from "@/format";
import { budgetName, isWhole } from "@/needs/needs";
import { CardLink } from "./parts";
import { useFirstTenants } from "./Tenants";

type Forecast = Schemas["MonthForecast"];
type Budget = Pick<
  Schemas["BudgetBalance"],
  "key" | "model" | "tag" | "period" | "hard" | "limit_usd" | "spent_usd" | "held_usd" | "left_usd"
>;

/** The budgets of a tenant, and what the month will cost. */
export function TenantSpend({ tenant }: { tenant: string }) {
  const forecast = useQuery(read(tenant, "/v1/usage/forecast"));
  const budgets = useQuery(read(tenant, "/v1/budgets"));
  const error = forecast.error ?? budgets.error;
  return (
    <SpendCard forecast={forecast.data} error={error} onRetry={() => void Promise.all([forecast.refetch(), budgets.refetch()])}>
      {budgets.data?.data.map((b) => (
        <BudgetRow key={budgetName(b)} name={budgetName(b)} budget={b} forecast={forecast.data} />
      ))}
      {budgets.data?.data.length === 0 && (
        <p className="border-t border-line px-3.5 py-2.5 text-12 text-ink-3">This tenant has no budget: it may spend without a limit.</p>
      )}
    </SpendCard>
  );
}

/** What all tenants will cost, and the month's budget of each. */
export function AllSpend() {
  const forecast = useQuery(read(null, "/admin/v1/usage/forecast"));
  return (
    <SpendCard forecast={forecast.data} error={forecast.error} onRetry={() => void forecast.refetch()}>
      {useFirstTenants().map((t) => (
        <TenantBudget key={t} tenant={t} />
      ))}
    </SpendCard>
  );
}

function TenantBudget({ tenant }: { tenant: string }) {
  const budgets = useQuery(read(tenant, "/v1/budgets"));
  const forecast = useQuery(read(tenant, "/v1/usage/forecast"));
  const own = budgets.data?.data.filter(isWhole) ?? [];
  const budget = own.find((b) => b.period === "monthly") ?? own[0];
  const name = (
    <Link to="/t/$tenant" params={{ tenant }} className="hover:text-accent hover:underline">
      {tenant}
    </Link>
  );
  if (budget) return <BudgetRow name={name} budget={budget} forecast={forecast.data} period />;
  return (
    <div className="flex items-center gap-3 border-t border-line px-3.5 py-2">
      <span className="w-48 shrink-0 truncate">{name}</span>
      <span className="flex-1 text-12 text-ink-3">{budgets.data ? "no budget" : ""}</span>
      <Cost usd={forecast.data?.spent_usd} what="settled" />
    </div>
  );
}

function SpendCard({
  forecast,
  error,
  onRetry,
  children,
}: {
  forecast: Forecast | undefined;
  error: unknown;
  onRetry: () => void;
  children: ReactNode;
}) {
  return (
    <Card
      title="Spend this month"
      note="budgets, and the forecast of the month (UTC)"
      aside={<CardLink page="usage">Usage & cost</CardLink>}
    >
      {error ? (
        <ErrorPanel error={error} onRetry={onRetry} />
      ) : forecast ? (
        <>
          <dl className="grid grid-cols-3 gap-3 px-3.5 py-2.5">
            <Figure name="Spent">
              <Cost usd={forecast.spent_usd} what="settled" />
            </Figure>
            <Figure name="Forecast">
              <Cost usd={forecast.forecast_usd} />
            </Figure>
            <Figure name="Between">
              <span className="font-normal text-ink-2">
                {formatCost(forecast.low_usd)} – {formatCost(forecast.high_usd)}
              </span>
            </Figure>
          </dl>
          {children}
        </>
      ) : (
        <div className="p-3.5">
          <Skeleton className="w-1/2" />
        </div>
      )}
    </Card>
  );
}

function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-12 text-ink-3">{name}</dt>
      <dd className="num truncate text-16 font-semibold">{children}</dd>
    </div>
  );
}

interface BudgetRowProps {
  name: ReactNode;
  budget: Budget;
  forecast: Forecast | undefined;
  /** Prints the period behind the limit. */
  period?: boolean;
}

/** Spent and held against the limit; a ring marks the forecast of a month's budget, which may lie behind the limit. */
function BudgetRow({ name, budget: b, forecast, period }: BudgetRowProps) {
  const spent = costShare(b.spent_usd, b.limit_usd);
  const used = 1 - costShare(b.left_usd, b.limit_usd);
  const expected = b.period === "monthly" && isWhole(b) && forecast ? costShare(forecast.forecast_usd, b.limit_usd) : null;
  const scale = Math.max(1.15, used, expected ?? 0);
  const at = (share: number) => `${(100 * Math.min(share, scale)) / scale}%`;
  const over = used >= 0.9 || (expected !== null && expected > 1);
  const words = `${formatPercent(used)} used: ${formatCost(b.spent_usd)} spent and ${formatCost(b.held_usd)} held`;
  return (
    <div className="flex items-center gap-3 border-t border-line px-3.5 py-2">
      <span
        className={cn("w-32 shrink-0 truncate md:w-48", typeof name === "string" && "first-letter:uppercase")}
        title={typeof name === "string" ? name : undefined}
      >
        {name}
      </span>
      <Tip text={`${words}${expected === null ? "" : `; forecast ${formatCost(forecast?.forecast_usd)}`}`}>
        <span role="img" aria-label={words} className="relative h-4 min-w-0 flex-1">
          <span className="absolute inset-x-0 top-[5px] h-1.5 rounded-full bg-line" />
          <span
            className={cn("absolute top-[5px] left-0 h-1.5 rounded-full", over ? "bg-amber-line" : "bg-water-line")}
            style={{ width: at(used) }}
          />
          <span
            className={cn(
              "absolute top-[5px] left-0 h-1.5 rounded-full",
              used >= 1 ? "bg-red-solid" : over ? "bg-amber-solid" : "bg-water-solid",
            )}
            style={{ width: at(spent) }}
          />
          <span className="absolute top-0.5 h-3 w-0.5 bg-ink-2" style={{ left: at(1) }} />
          {expected !== null && (
            <span
              className={cn(
                "absolute top-1 -ml-1 size-2 rounded-full border-2 bg-surface",
                over ? "border-amber-solid" : "border-water-solid",
              )}
              style={{ left: at(expected) }}
            />
          )}
        </span>
      </Tip>
      <span className="num w-36 shrink-0 text-right whitespace-nowrap">
        <span className="font-medium">{formatCost(b.spent_usd)}</span> <span className="text-ink-3">/ {formatCost(b.limit_usd)}</span>
        {period && b.period !== "monthly" && <span className="block text-12 text-ink-3">{b.period}</span>}
      </span>
    </div>
  );
}
