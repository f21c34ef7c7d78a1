import { Checkbox } from "@/components/Checkbox";
import { Field, Input, TextArea } from "@/components/Field";
import { Select } from "@/components/Select";
import type { Typed, Variable } from "./variables";

export interface VariablesProps {
  variables: readonly Variable[];
  typed: Typed;
  wrong: Readonly<Record<string, string>>;
  onChange: (name: string, text: string) => void;
}

/** A field for each variable of the prompt, by its schema. */
export function Variables({ variables, typed, wrong, onChange }: VariablesProps) {
  if (variables.length === 0) return <p className="py-1 text-ink-3">The prompt has no variables.</p>;
  return (
    <div className="flex flex-col gap-3">
      {variables.map((v) => (
        <VariableField
          key={v.name}
          variable={v}
          text={typed[v.name] ?? v.initial}
          error={wrong[v.name]}
          onChange={(text) => onChange(v.name, text)}
        />
      ))}
    </div>
  );
}

interface VariableFieldProps {
  variable: Variable;
  text: string;
  error: string | undefined;
  onChange: (text: string) => void;
}

function VariableField({ variable: v, text, error, onChange }: VariableFieldProps) {
  if (v.kind === "boolean") {
    return <Checkbox label={v.name} showLabel checked={text === "true"} onChange={(on) => onChange(String(on))} />;
  }
  const json = v.kind === "list" || v.kind === "object";
  const label = (
    <>
      <span className="font-mono text-ink">{v.name}</span>
      {!v.required && <span className="ml-1.5 font-normal text-ink-3">optional</span>}
    </>
  );
  return (
    <Field label={label} hint={v.about || hints[v.kind]} error={error}>
      {v.kind === "choice" ? (
        <Select
          label={v.name}
          value={text}
          choices={[
            ...(text === "" ? [{ value: "", label: "Choose…" }] : []),
            ...v.choices.map((c) => ({ value: c, label: c.replace(/^"|"$/g, "") })),
          ]}
          onChange={onChange}
        />
      ) : v.kind === "number" ? (
        <Input inputMode="decimal" value={text} onChange={(e) => onChange(e.target.value)} />
      ) : (
        <TextArea
          mono={json}
          rows={rowsFor(text, json ? 2 : 1)}
          spellCheck={!json}
          value={text}
          onChange={(e) => onChange(e.target.value)}
        />
      )}
    </Field>
  );
}

const hints: Partial<Record<Variable["kind"], string>> = { list: "A list, as JSON", object: "An object, as JSON", any: "Text, or JSON" };

/** As many rows as the text has lines, within bounds. */
function rowsFor(text: string, least: number): number {
  return Math.min(8, Math.max(least, text.split("\n").length));
}
