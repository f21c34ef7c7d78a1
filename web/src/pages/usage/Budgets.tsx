import { useQuery } from "@tanstack/react-query";
import { read, type Schemas } from "@/api";
import { Chip } from "@/components/Chip";
import { Cost } from "@/components/Cost";
import { cn } from "@/components/cn";
import { PaneSection } from "@/components/KeyValue";
import { Skeleton } from "@/components/Skeleton";
import { ErrorPanel } from "@/components/States";
import { Time } from "@/components/Time";
import { costShare, formatPercent } from "@/format";
import { useTenant } from "@/routes";

type Budget = Schemas["BudgetBalance"] & { tenant?: string };

/** The budgets of the tenant, or of all tenants, the fullest first. */
export function Budgets() {
  const tenant = useTenant();
  const own = useQuery({ ...read(tenant, "/v1/budgets"), enabled: tenant !== null });
  const all = useQuery({ ...read(null, "/admin/v1/budgets"), enabled: tenant === null });
  const list = tenant === null ? all : own;
  const budgets = list.data?.data.toSorted((a, b) => used(b) - used(a)) as Budget[] | undefined;
  return (
    <PaneSection title="Budgets" aside={budgets && budgets.length > 0 ? "the fullest first" : undefined}>
      {list.error ? (
        <ErrorPanel error={list.error} onRetry={() => void list.refetch()} />
      ) : !budgets ? (
        <Skeleton className="my-3 w-2/3" />
      ) : budgets.length === 0 ? (
        <p className="py-1 text-ink-2">No budget is set. A budget warns of spending, or stops it, for a tenant, a key, a model or a tag.</p>
      ) : (
        <ul className="flex flex-col divide-y divide-line">
          {budgets.map((b) => (
            <BudgetRow key={[b.tenant, b.key, b.model, b.tag, b.period].join("/")} budget={b} />
          ))}
        </ul>
      )}
    </PaneSection>
  );
}

function used(b: Budget): number {
  return costShare(b.spent_usd, b.limit_usd) + costShare(b.held_usd, b.limit_usd);
}

/** What a budget is about: `Monthly · model fast`. */
export function budgetName(b: Budget): string {
  const period = { daily: "Daily", monthly: "Monthly", total: "In total" }[b.period] ?? b.period;
  const about = b.key ? `key ${b.key}` : b.model ? `model ${b.model}` : b.tag ? `tag ${b.tag}` : "all work";
  return [b.tenant, period, about].filter(Boolean).join(" · ");
}

function BudgetRow({ budget: b }: { budget: Budget }) {
  const spent = Math.min(1, costShare(b.spent_usd, b.limit_usd));
  const held = Math.min(1 - spent, costShare(b.held_usd, b.limit_usd));
  const hue = used(b) >= 1 ? "bg-red-solid" : b.used_up_at ? "bg-amber-solid" : "bg-water-solid";
  return (
    <li className="flex flex-col gap-1.5 py-2.5">
      <div className="flex items-center gap-2">
        <span className="min-w-0 flex-1 truncate font-medium" title={budgetName(b)}>
          {budgetName(b)}
        </span>
        <Chip hue={b.hard ? "violet" : "slate"}>{b.hard ? "hard" : "soft"}</Chip>
      </div>
      <div
        role="img"
        aria-label={`${formatPercent(spent)} settled, ${formatPercent(held)} held`}
        className="flex h-1.5 gap-px overflow-hidden rounded-full bg-line"
      >
        <span className={cn("h-full", hue)} style={{ width: `${100 * spent}%` }} />
        <span className={cn("h-full opacity-50", hue)} style={{ width: `${100 * held}%` }} />
      </div>
      <div className="flex items-baseline justify-between gap-2 text-12 text-ink-2">
        <span>
          <span className="font-medium text-ink">
            <Cost usd={b.left_usd} />
          </span>{" "}
          left of <Cost usd={b.limit_usd} />
        </span>
        <span className="num text-ink-3">{formatPercent(used(b))} used</span>
      </div>
      <div className="flex flex-wrap items-baseline justify-between gap-x-2 text-12 text-ink-3">
        <span>
          <Cost usd={b.spent_usd} what="settled" /> settled, <Cost usd={b.held_usd} what="held" /> held
        </span>
        <Outlook budget={b} />
      </div>
    </li>
  );
}

/** When the budget is used up at the present rate. */
function Outlook({ budget: b }: { budget: Budget }) {
  if (used(b) >= 1) return <span className="text-red">{b.hard ? "Used up: work is refused" : "Used up: a warning was sent"}</span>;
  if (b.used_up_at) {
    return (
      <span className="text-amber">
        at this rate used up <Time iso={b.used_up_at} />
      </span>
    );
  }
  if (b.period === "total") return <span>no end</span>;
  return <span>{b.period === "daily" ? "lasts the day" : "lasts the month"}</span>;
}
