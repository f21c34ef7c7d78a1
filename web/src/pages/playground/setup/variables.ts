import type { Variables } from "../types";
import { type ReadVariable, variablesOf } from "./template";

/** A row of the form: the text of each variable as a person types it. A variable without a text is not sent. */
export type Row = Readonly<Record<string, string>>;

export type FieldKind = "string" | "number" | "integer" | "boolean" | "enum" | "json" | "any";

/** A field of the form of variables. */
export interface VariableField {
  name: string;
  kind: FieldKind;
  required: boolean;
  /** The values of an enum, as JSON. */
  values: readonly unknown[];
  description: string;
  /** The numbers of the columns whose prompt has it. */
  columns: readonly number[];
}

type SchemaObject = Record<string, unknown>;

function asObject(value: unknown): SchemaObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as SchemaObject) : {};
}

/** The fields of a JSON Schema of variables: one for each property, and one for each required name without a property. */
export function fieldsOfSchema(schema: unknown): VariableField[] {
  const root = asObject(schema);
  const properties = asObject(root.properties);
  const required = Array.isArray(root.required) ? root.required.map(String) : [];
  const names = [...new Set([...Object.keys(properties), ...required])];
  return names.map((name) => {
    const property = resolved(asObject(properties[name]), root);
    const values = Array.isArray(property.enum) ? property.enum : "const" in property ? [property.const] : [];
    const kind = values.length > 0 ? "enum" : kindOf(property);
    const description = typeof property.description === "string" ? property.description : "";
    return { name, kind, required: required.includes(name), values, description, columns: [] };
  });
}

/** Follows a reference to `$defs` once; deeper ones read as any value. */
function resolved(property: SchemaObject, root: SchemaObject): SchemaObject {
  const path = typeof property.$ref === "string" ? /^#\/(\$defs|definitions)\/(.+)$/.exec(property.$ref) : null;
  return path ? asObject(asObject(root[path[1] ?? ""])[path[2] ?? ""]) : property;
}

function kindOf(property: SchemaObject): FieldKind {
  const types = (Array.isArray(property.type) ? property.type : [property.type]).filter((t) => t !== "null");
  if (types.length !== 1) return "any";
  switch (types[0]) {
    case "string":
    case "number":
    case "integer":
    case "boolean":
      return types[0];
    case "object":
    case "array":
      return "json";
    default:
      return "any";
  }
}

const readKinds: Record<ReadVariable["kind"], FieldKind> = { string: "string", object: "json", list: "json" };

/** The fields of a prompt without a schema: its templates, and the lists of messages of its placeholders. */
export function fieldsOfTemplates(templates: readonly string[], placeholders: readonly string[]): VariableField[] {
  const read = variablesOf(templates).map(
    (v): VariableField => ({
      name: v.name,
      kind: readKinds[v.kind],
      required: !v.optional,
      values: [],
      description: "",
      columns: [],
    }),
  );
  const lists = placeholders
    .filter((name) => !read.some((f) => f.name === name))
    .map((name): VariableField => ({ name, kind: "json", required: true, values: [], description: "A list of messages.", columns: [] }));
  return [...read, ...lists];
}

/**
 * The fields of a content: of its schema, and of variables that its templates read and the schema lets through. Without a schema, all are of
 * the templates.
 */
export function fieldsOfContent(schema: unknown, templates: readonly string[], placeholders: readonly string[]): VariableField[] {
  const read = fieldsOfTemplates(templates, placeholders);
  if (schema == null) return read;
  const declared = fieldsOfSchema(schema);
  if (asObject(schema).additionalProperties === false) return declared;
  const known = new Set(declared.map((f) => f.name));
  return [...declared, ...read.filter((f) => !known.has(f.name)).map((f) => ({ ...f, required: false }))];
}

/** The fields of all columns, in the order of the columns. A name with two kinds takes any value. */
export function mergeFields(columns: readonly (readonly VariableField[])[]): VariableField[] {
  const merged = new Map<string, VariableField>();
  columns.forEach((fields, column) => {
    for (const field of fields) {
      const old = merged.get(field.name);
      if (!old) merged.set(field.name, { ...field, columns: [column] });
      else {
        const same = old.kind === field.kind && JSON.stringify(old.values) === JSON.stringify(field.values);
        merged.set(field.name, {
          ...old,
          kind: same ? old.kind : "any",
          values: same ? old.values : [],
          required: old.required || field.required,
          description: old.description || field.description,
          columns: [...old.columns, column],
        });
      }
    }
  });
  return [...merged.values()];
}

/** The text of a value in the form. */
export function textOfValue(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** A text of the form as a value, or the reason why it is none. */
export function valueOfText(field: Pick<VariableField, "kind" | "values">, text: string): { value: unknown } | { problem: string } {
  switch (field.kind) {
    case "string":
      return { value: text };
    case "number":
    case "integer": {
      const number = text.trim() === "" ? Number.NaN : Number(text);
      if (!Number.isFinite(number)) return { problem: "is not a number" };
      return field.kind === "integer" && !Number.isInteger(number) ? { problem: "is not a whole number" } : { value: number };
    }
    case "boolean":
      return text === "true" || text === "false" ? { value: text === "true" } : { problem: "is neither true nor false" };
    case "enum": {
      const found = field.values.find((v) => textOfValue(v) === text);
      return found === undefined ? { problem: `is none of ${field.values.map(textOfValue).join(", ")}` } : { value: found };
    }
    case "json":
      try {
        return { value: JSON.parse(text) as unknown };
      } catch (error) {
        return { problem: `is not JSON: ${error instanceof Error ? error.message : String(error)}` };
      }
    case "any":
      try {
        return { value: JSON.parse(text) as unknown };
      } catch {
        return { value: text }; // text that is no JSON is meant as text
      }
  }
}

const isMissing = "is missing";

/** The variables of a row, and a problem for each text that is no value of its field. Texts without a field are left out. */
export function valuesOfRow(fields: readonly VariableField[], row: Row): { values: Variables; problems: Record<string, string> } {
  const values: Variables = {};
  const problems: Record<string, string> = {};
  for (const field of fields) {
    const text = row[field.name];
    if (text === undefined || (text === "" && field.kind !== "string")) {
      if (field.required) problems[field.name] = isMissing;
      continue;
    }
    if (text === "" && !field.required) continue;
    const parsed = valueOfText(field, text);
    if ("value" in parsed) values[field.name] = parsed.value;
    else problems[field.name] = parsed.problem;
  }
  return { values, problems };
}

/** A row of the form from values of a run, a file or a link. */
export function rowOfValues(values: Variables): Row {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, textOfValue(value)]));
}

/** One sentence on the problems of a row: `question, brand are missing; count is not a number`. */
export function problemWords(problems: Record<string, string>): string {
  const all = Object.entries(problems);
  const missing = all.filter(([, problem]) => problem === isMissing).map(([name]) => name);
  const others = all.filter(([, problem]) => problem !== isMissing).map(([name, problem]) => `${name} ${problem}`);
  if (missing.length === 0) return others.join("; ");
  return [`${missing.join(", ")} ${missing.length === 1 ? isMissing : "are missing"}`, ...others].join("; ");
}
