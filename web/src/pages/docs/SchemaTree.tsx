import { ChevronRight } from "lucide-react";
import { createContext, useContext, useState } from "react";
import { cn } from "@/components/cn";
import { inline } from "./Prose";
import { resolve, type Schema, type Spec } from "./spec";

const SpecContext = createContext<Spec | null>(null);
export const SpecProvider = SpecContext.Provider;

export function useSpec(): Spec {
  const spec = useContext(SpecContext);
  if (!spec) throw new Error("SchemaTree needs a SpecProvider.");
  return spec;
}

/** The words of a schema's type: `string`, `array of Item`, `object or null`. */
export function typeWords(spec: Spec, given: Schema): string {
  const { schema, name } = resolve(spec, given);
  if (schema.anyOf) return [...new Set(schema.anyOf.map((s) => typeWords(spec, s)))].join(" or ");
  if (schema.items) return `array of ${typeWords(spec, schema.items)}`;
  const type = Array.isArray(schema.type) ? schema.type.join(" or ") : schema.type;
  if (name && (schema.properties || !type)) return name;
  const format = schema.format ? ` (${schema.format})` : "";
  if (type === "object" && typeof schema.additionalProperties === "object" && !schema.properties) {
    return `map of ${typeWords(spec, schema.additionalProperties)}`;
  }
  return type ? type + format : "any";
}

/** The schemas with members inside a schema: of an object, of the entries of an array or a map, or of each alternative. */
function insides(spec: Spec, given: Schema): { name: string | null; schema: Schema }[] {
  const { schema, name } = resolve(spec, given);
  if (schema.properties) return [{ name, schema }];
  if (schema.items) return insides(spec, schema.items);
  if (schema.anyOf) return schema.anyOf.flatMap((s) => insides(spec, s));
  if (typeof schema.additionalProperties === "object") return insides(spec, schema.additionalProperties);
  return [];
}

/** The members of a schema. Those with members of their own expand. */
export function SchemaTree({ schema }: { schema: Schema }) {
  const spec = useSpec();
  const inner = insides(spec, schema);
  if (inner.length === 0) return <p className="text-ink-3">{typeWords(spec, schema)}</p>;
  return (
    <div className="flex flex-col gap-2">
      {inner.map(({ name, schema: one }, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: alternatives without a name have no other key.
        <div key={i}>
          {inner.length > 1 && <p className="text-12 text-ink-3">{i === 0 ? (name ?? "object") : `or ${name ?? "object"}`}</p>}
          <Members schema={one} />
        </div>
      ))}
    </div>
  );
}

function Members({ schema }: { schema: Schema }) {
  return (
    <ul className="flex flex-col divide-y divide-line">
      {Object.entries(schema.properties ?? {}).map(([name, member]) => (
        <Member key={name} name={name} schema={member} required={schema.required?.includes(name) ?? false} />
      ))}
    </ul>
  );
}

function Member({ name, schema, required }: { name: string; schema: Schema; required: boolean }) {
  const spec = useSpec();
  const [open, setOpen] = useState(false);
  const expands = insides(spec, schema).length > 0;
  const about = schema.description ?? resolve(spec, schema).schema.description;
  return (
    <li className="py-1.5">
      <div className="flex min-w-0 flex-wrap items-baseline gap-x-2">
        {expands ? (
          <button
            type="button"
            aria-expanded={open}
            onClick={() => setOpen(!open)}
            className="-ml-1 inline-flex min-h-6 items-center gap-0.5 rounded-chip pr-1 font-mono text-12 font-medium hover:bg-hover"
          >
            <ChevronRight aria-hidden className={cn("size-3.5 text-ink-3", open && "rotate-90")} strokeWidth={1.75} />
            {name}
          </button>
        ) : (
          <span className="font-mono text-12 font-medium">{name}</span>
        )}
        <span className="text-12 text-ink-3">{typeWords(spec, schema)}</span>
        {required && <span className="text-12 text-amber">required</span>}
        {schema.deprecated && <span className="text-12 text-red">deprecated</span>}
      </div>
      {about && <p className="text-12/5 text-ink-2">{inline(about)}</p>}
      <Values schema={resolve(spec, schema).schema} />
      {open && (
        <div className="mt-1 border-l border-line-2 pl-3">
          <SchemaTree schema={schema} />
        </div>
      )}
    </li>
  );
}

/** The values that a schema allows, and its examples. */
export function Values({ schema }: { schema: Schema }) {
  const words = schema.enum ?? [];
  const examples = (schema.examples ?? []).map((e) => (typeof e === "string" ? e : JSON.stringify(e)));
  if (words.length + examples.length === 0) return null;
  const list = words.length > 0 ? words : examples;
  return (
    <p className="text-12/5 text-ink-3">
      {words.length > 0 ? "One of " : "Such as "}
      {list.map((word, i) => (
        <span key={word}>
          {i > 0 && ", "}
          <code className="font-mono text-ink-2">{word}</code>
        </span>
      ))}
    </p>
  );
}
