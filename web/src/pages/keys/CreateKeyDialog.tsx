import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, asApiError, dataOf, type Schemas } from "@/api";
import { Checkbox } from "@/components/Checkbox";
import { Field, Input } from "@/components/Field";
import { FormDialog } from "@/components/FormDialog";
import { Select } from "@/components/Select";
import { BudgetInputs, FormSection, LimitInputs } from "@/pages/tenants/AllowanceFields";
import { budgetOf, budgetProblem, limitFields, limitProblem, limitsOf, noBudget, type Texts } from "@/pages/tenants/allowance";
import { type Key, tenantsChanged } from "@/pages/tenants/data";
import { type Expiry, expiries, expiryField } from "./expiry";

type Scope = Schemas["Scope"];

const scopes: readonly { value: Scope; about: string }[] = [
  { value: "inference", about: "Call models and read the log of calls" },
  { value: "jobs:write", about: "Submit, cancel and retry jobs, batches and files" },
  { value: "jobs:read", about: "Read jobs, results, files and usage" },
  { value: "webhooks", about: "Manage webhooks and deliveries" },
  { value: "prompts:read", about: "Read and render prompts" },
  { value: "prompts:write", about: "Save prompts, and move labels that are not protected" },
  { value: "admin", about: "Everything on the admin listener, over all tenants. For operators only." },
];

export function CreateKeyDialog({ tenant, onClose, onCreated }: { tenant: string; onClose: () => void; onCreated: (key: Key) => void }) {
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState<readonly Scope[]>(scopes.map(({ value }) => value).filter((value) => value !== "admin"));
  const [expiry, setExpiry] = useState<Expiry>("never");
  const [limits, setLimits] = useState<Texts>({});
  const [budget, setBudget] = useState(noBudget);
  const body = {
    tenant,
    name: name.trim(),
    scopes: [...chosen],
    ...expiryField(expiry),
    limits: limitsOf(limits, limitFields),
    budget: budgetOf(budget),
  };
  const create = useMutation({
    mutationFn: () => dataOf(api(null).POST("/admin/v1/keys", { body })),
    gcTime: 0, // the answer has the secret
    onSuccess: (key) => {
      tenantsChanged(queries);
      onCreated(key);
    },
  });
  const refused = create.error ? asApiError(create.error) : null;
  const ready =
    name.trim() !== "" &&
    chosen.length > 0 &&
    !budgetProblem(budget) &&
    limitFields.every((f) => limitProblem(limits[f.name] ?? "", f.kind) === null);
  return (
    <FormDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Create a key for ${tenant}`}
      description="The key is shown once, after it was created."
      action="Create key"
      wide
      ready={ready}
      busy={create.isPending}
      error={refused?.param === "name" ? null : create.error}
      onSubmit={() => create.mutate()}
      call={{ method: "POST", path: "/admin/v1/keys", body }}
    >
      <div className="grid gap-3 md:grid-cols-2">
        <Field label="Name" hint="In logs, usage and bills" error={refused?.param === "name" ? refused.message : null}>
          <Input
            mono
            autoFocus
            autoComplete="off"
            spellCheck={false}
            placeholder="app"
            value={name}
            onChange={(e) => setName(e.target.value)}
          />
        </Field>
        <Field label="Expires">
          <Select label="Expires" value={expiry} choices={expiries} onChange={setExpiry} />
        </Field>
      </div>
      <FormSection title="Scopes">
        <div className="flex flex-col gap-1">
          {scopes.map(({ value, about }) => (
            <div key={value} className="flex flex-wrap items-center gap-x-3">
              <span className="w-32 font-mono text-12">
                <Checkbox
                  label={value}
                  showLabel
                  checked={chosen.includes(value)}
                  onChange={(on) => setChosen(on ? [...chosen, value] : chosen.filter((s) => s !== value))}
                />
              </span>
              <span className="text-12 text-ink-3">{about}</span>
            </div>
          ))}
        </div>
      </FormSection>
      <details className="group">
        <summary className="cursor-pointer text-13 font-semibold">Limits and budget of the key</summary>
        <div className="mt-3 flex flex-col gap-4">
          <LimitInputs fields={limitFields} texts={limits} onChange={setLimits} />
          <BudgetInputs value={budget} onChange={setBudget} />
        </div>
      </details>
    </FormDialog>
  );
}
