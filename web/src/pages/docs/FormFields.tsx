import { useState } from "react";
import { Field, Input } from "@/components/Field";
import { useSpec } from "./SchemaTree";
import { type Operation, resolve } from "./spec";

/** The fields of a form: its bytes as a file of the person, everything else as text. */
export function FormFields({ op, onChange }: { op: Operation; onChange: (form: FormData | null) => void }) {
  const spec = useSpec();
  const media = op.requestBody?.content["multipart/form-data"];
  const schema = media?.schema ? resolve(spec, media.schema).schema : {};
  const names = Object.keys(schema.properties ?? {});
  const [values, setValues] = useState<Record<string, string | File>>({});
  const change = (name: string, value: string | File | undefined) => {
    const next = { ...values };
    if (value === undefined || value === "") delete next[name];
    else next[name] = value;
    setValues(next);
    if ((schema.required ?? []).some((n) => next[n] === undefined)) return onChange(null);
    const form = new FormData();
    for (const field of names) if (next[field] !== undefined && !isBytes(field)) form.append(field, next[field]);
    for (const field of names) if (next[field] !== undefined && isBytes(field)) form.append(field, next[field]);
    onChange(form);
  };
  return names.map((name) => (
    <Field key={name} label={schema.required?.includes(name) ? `${name} (required)` : name}>
      {isBytes(name) ? (
        <Input type="file" className="py-1" onChange={(e) => change(name, (e.target as HTMLInputElement).files?.[0])} />
      ) : (
        <Input mono value={(values[name] as string | undefined) ?? ""} onChange={(e) => change(name, e.target.value)} />
      )}
    </Field>
  ));
}

function isBytes(name: string): boolean {
  return name === "file" || name === "data";
}
