import { Plus, Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import { Button, IconButton } from "@/components/Button";
import { Checkbox } from "@/components/Checkbox";
import { Field, Input } from "@/components/Field";
import { amountProblem, type BudgetText, type LimitField, limitProblem, type Named, nameProblem, periods, type Texts } from "./allowance";

/** A titled part of a form. */
export function FormSection({ title, note, children }: { title: string; note?: ReactNode; children: ReactNode }) {
  return (
    <fieldset className="flex min-w-0 flex-col gap-3">
      <legend className="mb-2 text-13 font-semibold">{title}</legend>
      {note && <p className="-mt-2 text-12 text-ink-3">{note}</p>}
      {children}
    </fieldset>
  );
}

type AnyField = Pick<LimitField, "label" | "kind" | "hint"> & { name: string };

/** Limits as inputs, two or three in a line. Empty means no limit. */
export function LimitInputs({ fields, texts, onChange }: { fields: readonly AnyField[]; texts: Texts; onChange: (texts: Texts) => void }) {
  return (
    <div className="grid gap-3 md:grid-cols-2">
      {fields.map(({ name, label, hint, kind }) => (
        <Field key={name} label={label} hint={hint} error={limitProblem(texts[name] ?? "", kind)}>
          <Input
            inputMode={kind === "duration" ? "text" : "decimal"}
            placeholder={name === "burst" || name === "wait" ? "Default" : "No limit"}
            value={texts[name] ?? ""}
            onChange={(e) => onChange({ ...texts, [name]: e.target.value })}
          />
        </Field>
      ))}
    </div>
  );
}

/** Amounts per day, per month and in total, and whether the budget refuses work when it is used up. */
export function BudgetInputs({ value, onChange }: { value: BudgetText; onChange: (value: BudgetText) => void }) {
  return (
    <div className="flex flex-col gap-2">
      <div className="grid gap-3 md:grid-cols-3">
        {periods.map(({ name, label }) => (
          <Field key={name} label={`${label} (USD)`} error={amountProblem(value[name])}>
            <Input
              inputMode="decimal"
              placeholder="No budget"
              value={value[name]}
              onChange={(e) => onChange({ ...value, [name]: e.target.value })}
            />
          </Field>
        ))}
      </div>
      <Checkbox
        label="Hard: refuse work when the budget is used up"
        showLabel
        checked={value.hard}
        onChange={(hard) => onChange({ ...value, hard })}
      />
    </div>
  );
}

/** A list of tags or models, each with its own inputs. */
export function NamedList<V>({
  what,
  example,
  list,
  fresh,
  onChange,
  children,
}: {
  what: "tag" | "model";
  example: string;
  list: readonly Named<V>[];
  fresh: V;
  onChange: (list: Named<V>[]) => void;
  children: (value: V, onChange: (value: V) => void) => ReactNode;
}) {
  const put = (changed: Named<V>) => onChange(list.map((entry) => (entry.id === changed.id ? changed : entry)));
  const nextId = Math.max(-1, ...list.map((entry) => entry.id)) + 1;
  return (
    <div className="flex flex-col gap-3">
      {list.map((entry) => (
        <div key={entry.id} className="flex flex-col gap-3 rounded-card border border-line bg-sunken p-3">
          <div className="flex items-start gap-2">
            <Field label={what === "tag" ? "Tag" : "Model"} error={nameProblem(list, entry, what)} className="flex-1">
              <Input
                mono
                placeholder={example}
                autoComplete="off"
                spellCheck={false}
                value={entry.name}
                onChange={(e) => put({ ...entry, name: e.target.value })}
              />
            </Field>
            <IconButton
              icon={Trash2}
              label={`Remove the ${what} ${entry.name}`.trim()}
              className="mt-5"
              onClick={() => onChange(list.filter((other) => other.id !== entry.id))}
            />
          </div>
          {children(entry.value, (value) => put({ ...entry, value }))}
        </div>
      ))}
      <Button small icon={Plus} className="self-start" onClick={() => onChange([...list, { id: nextId, name: "", value: fresh }])}>
        Add a {what}
      </Button>
    </div>
  );
}
