import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, dataOf } from "@/api";
import { FormDialog } from "@/components/FormDialog";
import { toast } from "@/components/Toast";
import { BudgetInputs, FormSection, LimitInputs } from "@/pages/tenants/AllowanceFields";
import { budgetOf, budgetProblem, budgetText, limitFields, limitProblem, limitsOf, textsOf } from "@/pages/tenants/allowance";
import { type Key, tenantsChanged } from "@/pages/tenants/data";

/** Changes the limits and the budget of a key; all keys of this name share them. */
export function AllowanceDialog({ apiKey, onClose }: { apiKey: Key; onClose: () => void }) {
  const queries = useQueryClient();
  const [texts, setTexts] = useState(() => textsOf(apiKey.limits, limitFields));
  const [budget, setBudget] = useState(() => budgetText(apiKey.budget));
  const body = { limits: limitsOf(texts, limitFields), budget: budgetOf(budget) };
  const change = useMutation({
    mutationFn: () =>
      dataOf(
        api(null).PATCH("/admin/v1/keys/{key}", {
          params: { path: { key: apiKey.id }, ...(apiKey.etag ? { header: { "If-Match": apiKey.etag } } : {}) },
          body,
        }),
      ),
    onSuccess: () => {
      tenantsChanged(queries);
      toast(`Key ${apiKey.name} saved`);
      onClose();
    },
  });
  const reload = () => {
    tenantsChanged(queries);
    onClose();
  };
  return (
    <FormDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Limits and budget of the key ${apiKey.name}`}
      description="They hold for all keys of this name together, within the limits of the tenant."
      action="Save key"
      wide
      ready={!budgetProblem(budget) && limitFields.every((f) => limitProblem(texts[f.name] ?? "", f.kind) === null)}
      busy={change.isPending}
      error={change.error}
      onReload={reload}
      onSubmit={() => change.mutate()}
      call={{ method: "PATCH", path: `/admin/v1/keys/${apiKey.id}`, body }}
    >
      <FormSection title="Limits">
        <LimitInputs fields={limitFields} texts={texts} onChange={setTexts} />
      </FormSection>
      <FormSection title="Budget">
        <BudgetInputs value={budget} onChange={setBudget} />
      </FormSection>
    </FormDialog>
  );
}
