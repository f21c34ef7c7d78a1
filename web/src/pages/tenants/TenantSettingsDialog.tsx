import { Checkbox } from "@/components/Checkbox";
import { Field, Input } from "@/components/Field";
import { FormDialog } from "@/components/FormDialog";
import { durationForApi, formatGoDuration } from "@/format";
import { FormSection } from "./AllowanceFields";
import type { Tenant, TenantFields } from "./data";
import { changeCall, useTenantForm } from "./useTenantForm";

const lanes = ["realtime", "standard", "bulk"] as const;
const lists = [
  { name: "models", label: "Models", hint: "Empty: all models" },
  { name: "regions", label: "Regions", hint: "Empty: anywhere" },
  { name: "media_hosts", label: "Media hosts", hint: "Empty: the global default" },
] as const;
const kept = [
  { name: "results", label: "Results" },
  { name: "events", label: "Events" },
  { name: "files", label: "Files" },
  { name: "idempotency", label: "Idempotency keys" },
] as const;

interface Form {
  tier: string;
  weight: string;
  lanes: Tenant["lanes"];
  lists: Record<(typeof lists)[number]["name"], string>;
  retention: Record<(typeof kept)[number]["name"], string>;
}

function formOf(t: Tenant): Form {
  const time = (value: string | null) => formatGoDuration(value)?.replace(" ", "") ?? "";
  return {
    tier: t.tier,
    weight: String(t.weight),
    lanes: t.lanes,
    lists: { models: t.models.join(", "), regions: t.regions.join(", "), media_hosts: t.media_hosts.join(", ") },
    retention: {
      results: time(t.retention.results),
      events: time(t.retention.events),
      files: time(t.retention.files),
      idempotency: time(t.retention.idempotency),
    },
  };
}

const words = (text: string) => text.split(/[\s,]+/).filter(Boolean);
const timeProblem = (text: string) => (text.trim() === "" || durationForApi(text) !== null ? null : "Write a duration such as 30d or 36h.");

function fieldsOf(form: Form): TenantFields {
  const time = (text: string) => (text.trim() === "" ? null : durationForApi(text));
  return {
    tier: form.tier.trim(),
    weight: Number(form.weight),
    lanes: form.lanes,
    models: words(form.lists.models),
    regions: words(form.lists.regions),
    media_hosts: words(form.lists.media_hosts),
    retention: {
      results: time(form.retention.results),
      events: time(form.retention.events),
      files: time(form.retention.files),
      idempotency: time(form.retention.idempotency),
    },
  };
}

export function TenantSettingsDialog({ tenant, onClose }: { tenant: Tenant; onClose: () => void }) {
  const { form, setForm, save, ...state } = useTenantForm(tenant, formOf, onClose);
  const put = (part: Partial<Form>) => setForm((old) => ({ ...old, ...part }));
  const weightProblem = /^[1-9]\d{0,5}$/.test(form.weight.trim()) ? null : "Write a whole number from 1.";
  const ready = weightProblem === null && form.lanes.length > 0 && kept.every((k) => timeProblem(form.retention[k.name]) === null);
  const body = ready ? fieldsOf(form) : {};
  return (
    <FormDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Settings of ${tenant.id}`}
      action="Save settings"
      wide
      ready={ready}
      {...state}
      onSubmit={() => save(body)}
      call={changeCall(tenant, body)}
    >
      <div className="grid gap-3 md:grid-cols-2">
        <Field label="Tier" hint="A word of yours to group tenants by">
          <Input value={form.tier} onChange={(e) => put({ tier: e.target.value })} />
        </Field>
        <Field label="Weight" hint="Its share of a busy lane, against the weights of other tenants" error={weightProblem}>
          <Input inputMode="numeric" value={form.weight} onChange={(e) => put({ weight: e.target.value })} />
        </Field>
      </div>
      <FormSection title="Lanes" note={form.lanes.length === 0 ? "Choose one lane at least." : undefined}>
        <div className="flex gap-4">
          {lanes.map((lane) => (
            <Checkbox
              key={lane}
              label={lane}
              showLabel
              checked={form.lanes.includes(lane)}
              onChange={(on) => put({ lanes: lanes.filter((l) => (l === lane ? on : form.lanes.includes(l))) })}
            />
          ))}
        </div>
      </FormSection>
      <FormSection title="Access" note="Names parted by commas.">
        <div className="grid gap-3 md:grid-cols-3">
          {lists.map(({ name, label, hint }) => (
            <Field key={name} label={label} hint={hint}>
              <Input mono value={form.lists[name]} onChange={(e) => put({ lists: { ...form.lists, [name]: e.target.value } })} />
            </Field>
          ))}
        </div>
      </FormSection>
      <FormSection title="Retention" note="Such as 30d or 36h. Empty: the default of the configuration.">
        <div className="grid gap-3 md:grid-cols-4">
          {kept.map(({ name, label }) => (
            <Field key={name} label={label} error={timeProblem(form.retention[name])}>
              <Input
                placeholder="Default"
                value={form.retention[name]}
                onChange={(e) => put({ retention: { ...form.retention, [name]: e.target.value } })}
              />
            </Field>
          ))}
        </div>
      </FormSection>
    </FormDialog>
  );
}
