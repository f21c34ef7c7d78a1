import { Pencil } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { Chip } from "@/components/Chip";
import { Cost } from "@/components/Cost";
import { FormDialog } from "@/components/FormDialog";
import { Meter } from "@/components/Meter";
import { EmptyState, ErrorPanel } from "@/components/States";
import { Time } from "@/components/Time";
import type { Column } from "@/components/table/column";
import { PlainTable } from "@/components/table/PlainTable";
import { costShare, formatPercent } from "@/format";
import { BudgetInputs, FormSection, NamedList } from "./AllowanceFields";
import { type BudgetText, budgetOf, budgetProblem, budgetText, mapOf, type Named, namedList, nameProblem, noBudget } from "./allowance";
import { type Balance, type Tenant, useBalances } from "./data";
import { changeCall, useTenantForm } from "./useTenantForm";
import { Source } from "./words";

export function BudgetsTab({ tenant }: { tenant: Tenant }) {
  const [editing, setEditing] = useState(false);
  const balances = useBalances(tenant);
  const rows = balances.data?.data ?? [];
  const edit = tenant.source === "api" && (
    <Button small icon={Pencil} onClick={() => setEditing(true)}>
      Edit budgets…
    </Button>
  );
  return (
    <>
      <Card title="Budgets" note="In their current period" aside={edit}>
        {balances.error ? (
          <ErrorPanel error={balances.error} onRetry={() => void balances.refetch()} />
        ) : !tenant.enabled ? (
          <p className="px-3.5 py-3 text-ink-3">The tenant is disabled. Enable it to see the amounts left.</p>
        ) : rows.length === 0 && balances.isSuccess ? (
          <EmptyState title="No budget">
            A budget bounds the cost of a day, of a month or in total: for the tenant, for a model, for a tag, or for a key. A hard budget
            refuses work when it is used up; a soft one sends the event budget.soft_exceeded.
          </EmptyState>
        ) : (
          <PlainTable label="Budgets" rows={rows} idOf={idOf} columns={columns} />
        )}
      </Card>
      {editing && <BudgetsDialog tenant={tenant} onClose={() => setEditing(false)} />}
    </>
  );
}

const idOf = (b: Balance) => [b.key, b.model, b.tag, b.period].join("|");

const columns: readonly Column<Balance>[] = [
  { id: "scope", header: "For", width: "240px", narrow: "lead", cell: (b) => <Scope balance={b} /> },
  { id: "period", header: "Period", width: "88px", narrow: "side", cell: (b) => b.period },
  { id: "used", header: "Used", width: "320px", narrow: "line", cell: (b) => <Used balance={b} /> },
  { id: "spent", header: "Spent", width: "120px", align: "right", narrow: "line", cell: (b) => <Cost usd={b.spent_usd} what="settled" /> },
  { id: "held", header: "Held", width: "120px", align: "right", cell: (b) => <Cost usd={b.held_usd} what="held" /> },
  { id: "limit", header: "Limit", width: "120px", align: "right", narrow: "line", cell: (b) => <Cost usd={b.limit_usd} /> },
  { id: "left", header: "Left", width: "120px", align: "right", cell: (b) => <Cost usd={b.left_usd} /> },
  { id: "kind", header: "Kind", width: "64px", cell: (b) => <Chip hue={b.hard ? "red" : "slate"}>{b.hard ? "Hard" : "Soft"}</Chip> },
  { id: "source", header: "Owner", width: "64px", cell: (b) => <Source source={b.source} /> },
];

function Scope({ balance: b }: { balance: Balance }) {
  const of = [b.key && `key ${b.key}`, b.model && `model ${b.model}`, b.tag && `tag ${b.tag}`].filter(Boolean);
  return <span className="font-medium">{of.length > 0 ? of.join(", ") : "The tenant"}</span>;
}

function Used({ balance: b }: { balance: Balance }) {
  const share = costShare(b.spent_usd, b.limit_usd);
  return (
    <span className="inline-flex items-center gap-2">
      <Meter label={`${formatPercent(share)} is spent`} share={share} held={costShare(b.held_usd, b.limit_usd)} className="w-24" />
      <span className="num">{formatPercent(share)}</span>
      {b.exceeded_at && (
        <span className="text-12 text-amber">
          used up <Time iso={b.exceeded_at} />
        </span>
      )}
    </span>
  );
}

interface Form {
  own: BudgetText;
  tags: Named<BudgetText>[];
  models: Named<BudgetText>[];
}

const formOf = (t: Tenant): Form => ({
  own: budgetText(t.budget),
  tags: namedList(t.tag_budgets, budgetText),
  models: namedList(t.model_budgets, budgetText),
});

function BudgetsDialog({ tenant, onClose }: { tenant: Tenant; onClose: () => void }) {
  const { form, setForm, save, ...state } = useTenantForm(tenant, formOf, onClose);
  const good = (list: Named<BudgetText>[], what: "tag" | "model") =>
    list.every((entry) => nameProblem(list, entry, what) === null && !budgetProblem(entry.value));
  const body = {
    budget: budgetOf(form.own),
    tag_budgets: mapOf(form.tags, budgetOf),
    model_budgets: mapOf(form.models, budgetOf),
  };
  return (
    <FormDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Budgets of ${tenant.id}`}
      description="Amounts in US dollars. Work that is reserved already keeps its reservation."
      action="Save budgets"
      wide
      ready={!budgetProblem(form.own) && good(form.tags, "tag") && good(form.models, "model")}
      {...state}
      onSubmit={() => save(body)}
      call={changeCall(tenant, body)}
    >
      <FormSection title="The tenant">
        <BudgetInputs value={form.own} onChange={(own) => setForm({ ...form, own })} />
      </FormSection>
      <FormSection title="By tag" note="Work with a tag counts against the budget of the tag, too.">
        <NamedList what="tag" example="team:search" list={form.tags} fresh={noBudget} onChange={(tags) => setForm({ ...form, tags })}>
          {(value, onChange) => <BudgetInputs value={value} onChange={onChange} />}
        </NamedList>
      </FormSection>
      <FormSection title="By model">
        <NamedList what="model" example="gpt-4.1" list={form.models} fresh={noBudget} onChange={(models) => setForm({ ...form, models })}>
          {(value, onChange) => <BudgetInputs value={value} onChange={onChange} />}
        </NamedList>
      </FormSection>
    </FormDialog>
  );
}
