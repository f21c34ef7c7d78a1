import { Link } from "@tanstack/react-router";
import { Cost } from "@/components/Cost";
import { Meter } from "@/components/Meter";
import { TimeAgo } from "@/components/Time";
import type { Column } from "@/components/table/column";
import { costShare, formatCost, formatCount, formatPercent, missing } from "@/format";
import { activeKeys, type Balance, type Tenant, tightest, useBalances, useKeys } from "./data";
import { Lanes, limitWords, retentionWord, Source, TenantState } from "./words";

export const tenantColumns: readonly Column<Tenant>[] = [
  { id: "state", header: "State", width: "80px", fixed: true, narrow: "side", cell: (t) => <TenantState tenant={t} /> },
  {
    id: "id",
    header: "Tenant",
    width: "minmax(136px, 1fr)",
    fixed: true,
    narrow: "lead",
    cell: (t) => (
      <Link to="/all/tenants/$id" params={{ id: t.id }} className="font-medium hover:text-accent">
        {t.id}
      </Link>
    ),
  },
  { id: "source", header: "Owner", width: "44px", cell: (t) => <Source source={t.source} /> },
  { id: "tier", header: "Tier", width: "80px", narrow: "line", cell: (t) => t.tier || missing },
  { id: "budget", header: "Budget used", width: "minmax(248px, 1.1fr)", narrow: "line", cell: (t) => <BudgetCell tenant={t} /> },
  { id: "limits", header: "Limits", width: "minmax(168px, 1.3fr)", cell: (t) => limitWords(t.limits) },
  { id: "lanes", header: "Lanes", width: "44px", cell: (t) => <Lanes lanes={t.lanes} /> },
  { id: "weight", header: "Weight", width: "56px", align: "right", extra: true, cell: (t) => formatCount(t.weight) },
  { id: "keys", header: "Keys", width: "36px", align: "right", cell: (t) => <KeyCount tenant={t} /> },
  { id: "retention", header: "Results kept", width: "80px", align: "right", cell: (t) => retentionWord(t.retention.results) },
  { id: "updated", header: "Changed", width: "56px", align: "right", cell: (t) => <TimeAgo iso={t.updated_at} /> },
];

/** The tightest budget of the whole tenant: `$29.90 of $400 monthly`. */
function BudgetCell({ tenant }: { tenant: Tenant }) {
  const balances = useBalances(tenant);
  if (!tenant.enabled) return <span className="text-ink-3">{missing}</span>;
  const balance = tightest(balances.data?.data ?? []);
  if (!balance) return <span className="text-ink-3">{balances.isSuccess ? "No budget" : missing}</span>;
  return <BudgetUsed balance={balance} />;
}

export function BudgetUsed({ balance }: { balance: Balance }) {
  const share = costShare(balance.spent_usd, balance.limit_usd);
  const held = costShare(balance.held_usd, balance.limit_usd);
  return (
    <span className="flex items-center gap-2">
      <Meter label={`${formatPercent(share)} of the ${balance.period} budget is spent`} share={share} held={held} />
      <span className="truncate">
        <Cost usd={balance.spent_usd} what="settled" />{" "}
        <span className="text-ink-3">
          of {formatCost(balance.limit_usd)} {balance.period}
        </span>
      </span>
    </span>
  );
}

function KeyCount({ tenant }: { tenant: Tenant }) {
  const keys = useKeys(tenant.id).data;
  if (!keys) return <span className="text-ink-3">{missing}</span>;
  const count = activeKeys(keys.data).length;
  return <>{keys.has_more ? `${formatCount(count)}+` : formatCount(count)}</>;
}
