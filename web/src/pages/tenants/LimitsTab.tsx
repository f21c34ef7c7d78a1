import { Pencil } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { FormDialog } from "@/components/FormDialog";
import { PlainTable } from "@/components/table/PlainTable";
import { FormSection, LimitInputs, NamedList } from "./AllowanceFields";
import {
  limitFields,
  limitProblem,
  limitsOf,
  mapOf,
  type Named,
  namedList,
  nameProblem,
  storeFields,
  type TenantLimits,
  type Texts,
  textsOf,
} from "./allowance";
import type { Tenant } from "./data";
import { changeCall, useTenantForm } from "./useTenantForm";
import { limitValue, limitWords } from "./words";

const tenantFields = [...limitFields, ...storeFields];
const modelFields = limitFields.filter((f) => f.name !== "burst" && f.name !== "wait");

export function LimitsTab({ tenant }: { tenant: Tenant }) {
  const [editing, setEditing] = useState(false);
  const values = tenant.limits as Record<string, number | string | undefined>;
  const models = Object.entries(tenant.limits.models ?? {});
  return (
    <div className="flex flex-col gap-4">
      <Card
        title="Limits of the tenant"
        note="Over all its keys together"
        aside={
          tenant.source === "api" && (
            <Button small icon={Pencil} onClick={() => setEditing(true)}>
              Edit limits…
            </Button>
          )
        }
      >
        <PlainTable
          label="Limits of the tenant"
          rows={tenantFields}
          idOf={(f) => f.name}
          columns={[
            { id: "limit", header: "Limit", width: "240px", narrow: "lead", cell: (f) => f.label },
            {
              id: "value",
              header: "Value",
              width: "160px",
              align: "right",
              narrow: "side",
              cell: (f) => <span className={values[f.name] ? "font-medium" : "text-ink-3"}>{limitValue(f.name, values[f.name])}</span>,
            },
            {
              id: "meaning",
              header: "Meaning",
              quiet: true,
              width: "480px",
              narrow: "line",
              cell: (f) => <span className="pl-6 text-ink-2 max-md:pl-0">{f.hint}</span>,
            },
          ]}
        />
      </Card>
      <Card title="Limits by model" note="Calls of the tenant for one model">
        {models.length === 0 ? (
          <p className="px-3.5 py-3 text-ink-3">No model has a limit of its own.</p>
        ) : (
          <PlainTable
            label="Limits by model"
            rows={models}
            idOf={([model]) => model}
            columns={[
              {
                id: "model",
                header: "Model",
                width: "240px",
                narrow: "lead",
                cell: ([model]) => <span className="font-mono text-12">{model}</span>,
              },
              { id: "limits", header: "Limits", width: "480px", narrow: "side", cell: ([, limits]) => limitWords(limits) },
            ]}
          />
        )}
      </Card>
      {editing && <LimitsDialog tenant={tenant} onClose={() => setEditing(false)} />}
    </div>
  );
}

interface Form {
  texts: Texts;
  models: Named<Texts>[];
}

const formOf = (t: Tenant): Form => ({
  texts: textsOf(t.limits, tenantFields),
  models: namedList(t.limits.models ?? {}, (limits) => textsOf(limits, modelFields)),
});

function LimitsDialog({ tenant, onClose }: { tenant: Tenant; onClose: () => void }) {
  const { form, setForm, save, ...state } = useTenantForm(tenant, formOf, onClose);
  const good = (texts: Texts, fields: readonly (typeof tenantFields)[number][]) =>
    fields.every((f) => limitProblem(texts[f.name] ?? "", f.kind) === null);
  const ready =
    good(form.texts, tenantFields) && form.models.every((m) => nameProblem(form.models, m, "model") === null && good(m.value, modelFields));
  const limits: TenantLimits = limitsOf(form.texts, tenantFields);
  if (form.models.length > 0) limits.models = mapOf(form.models, (texts) => limitsOf(texts, modelFields));
  return (
    <FormDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Limits of ${tenant.id}`}
      description="New limits hold in every process within a second."
      action="Save limits"
      wide
      ready={ready}
      {...state}
      onSubmit={() => save({ limits })}
      call={changeCall(tenant, { limits })}
    >
      <LimitInputs fields={tenantFields} texts={form.texts} onChange={(texts) => setForm({ ...form, texts })} />
      <FormSection title="Limits by model">
        <NamedList
          what="model"
          example="gpt-4.1-mini"
          list={form.models}
          fresh={{} as Texts}
          onChange={(models) => setForm({ ...form, models })}
        >
          {(texts, onChange) => <LimitInputs fields={modelFields} texts={texts} onChange={onChange} />}
        </NamedList>
      </FormSection>
    </FormDialog>
  );
}
