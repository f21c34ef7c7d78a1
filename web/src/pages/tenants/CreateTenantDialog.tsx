import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, asApiError, dataOf } from "@/api";
import { Field, Input } from "@/components/Field";
import { FormDialog } from "@/components/FormDialog";
import { toast } from "@/components/Toast";
import { BudgetInputs, FormSection, LimitInputs } from "./AllowanceFields";
import { budgetOf, budgetProblem, limitFields, limitProblem, limitsOf, noBudget, type Texts } from "./allowance";
import { type TenantFields, tenantsChanged } from "./data";

const firstLimits = limitFields.filter((f) => f.name === "requests_per_minute" || f.name === "concurrency");

/** The few settings that most tenants begin with. All others are on the page of the tenant. */
export function CreateTenantDialog({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [id, setId] = useState("");
  const [tier, setTier] = useState("");
  const [limits, setLimits] = useState<Texts>({});
  const [budget, setBudget] = useState(noBudget);
  const body: TenantFields = {
    id: id.trim(),
    ...(tier.trim() ? { tier: tier.trim() } : {}),
    limits: limitsOf(limits, firstLimits),
    budget: budgetOf(budget),
  };
  const create = useMutation({
    mutationFn: () => dataOf(api(null).POST("/admin/v1/tenants", { body })),
    onSuccess: (tenant) => {
      tenantsChanged(queries);
      toast(`Tenant ${tenant.id} created`);
      onClose();
      void navigate({ to: "/all/tenants/$id", params: { id: tenant.id }, search: { tab: "keys" } });
    },
  });
  const refused = create.error ? asApiError(create.error) : null;
  const ready = id.trim() !== "" && !budgetProblem(budget) && firstLimits.every((f) => limitProblem(limits[f.name] ?? "", f.kind) === null);
  return (
    <FormDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title="Create tenant"
      description="Its first key is created on its page."
      action="Create tenant"
      wide
      ready={ready}
      busy={create.isPending}
      error={refused?.param === "id" ? null : create.error}
      onSubmit={() => create.mutate()}
      call={{ method: "POST", path: "/admin/v1/tenants", body }}
    >
      <div className="grid gap-3 md:grid-cols-2">
        <Field
          label="Name"
          hint="In logs, metrics and bills. It cannot be changed."
          error={refused?.param === "id" ? refused.message : null}
        >
          <Input
            mono
            autoFocus
            autoComplete="off"
            spellCheck={false}
            placeholder="search"
            value={id}
            onChange={(e) => setId(e.target.value)}
          />
        </Field>
        <Field label="Tier" hint="A word of yours to group tenants by. Optional.">
          <Input autoComplete="off" placeholder="production" value={tier} onChange={(e) => setTier(e.target.value)} />
        </Field>
      </div>
      <FormSection title="Budget">
        <BudgetInputs value={budget} onChange={setBudget} />
      </FormSection>
      <FormSection title="Limits">
        <LimitInputs fields={firstLimits} texts={limits} onChange={setLimits} />
      </FormSection>
    </FormDialog>
  );
}
