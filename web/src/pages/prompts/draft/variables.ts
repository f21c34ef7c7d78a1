/** A variable of a prompt, as the form of variables asks for it. */
export interface Variable {
  name: string;
  kind: "string" | "number" | "boolean" | "choice" | "list" | "object" | "any";
  required: boolean;
  about: string;
  /** Of a choice: its values, as JSON. */
  choices: string[];
  /** The value to begin with. */
  initial: string;
}

interface Property {
  type?: string | string[];
  enum?: unknown[];
  description?: string;
  default?: unknown;
}

/** The variables of a schema, required ones first. */
export function variablesOf(schema: unknown): Variable[] {
  const { properties = {}, required = [] } = (schema ?? {}) as { properties?: Record<string, Property | boolean>; required?: string[] };
  const all = Object.entries(properties).map(([name, value]) => {
    const property = typeof value === "object" && value !== null ? value : {};
    const kind = kindOf(property);
    return {
      name,
      kind,
      required: required.includes(name),
      about: property.description ?? "",
      choices: kind === "choice" ? (property.enum ?? []).map((v) => JSON.stringify(v)) : [],
      initial:
        property.default === undefined
          ? ""
          : kind === "string" || kind === "any"
            ? textOf(property.default)
            : JSON.stringify(property.default),
    } satisfies Variable;
  });
  return all.sort((a, b) => Number(b.required) - Number(a.required));
}

function kindOf({ type, enum: choices }: Property): Variable["kind"] {
  if (Array.isArray(choices) && choices.length > 0) return "choice";
  const types = (Array.isArray(type) ? type : [type]).filter((t) => t !== "null");
  if (types.length !== 1) return "any";
  switch (types[0]) {
    case "string":
      return "string";
    case "number":
    case "integer":
      return "number";
    case "boolean":
      return "boolean";
    case "array":
      return "list";
    case "object":
      return "object";
    default:
      return "any";
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The values that a person typed, by the names of the variables. */
export type Typed = Readonly<Record<string, string>>;

/** The variables to send, and what is wrong with them, by name. Empty fields are left out, and the server says which of them it needs. */
export function valuesOf(variables: readonly Variable[], typed: Typed): { values: Record<string, unknown>; wrong: Record<string, string> } {
  const values: Record<string, unknown> = {};
  const wrong: Record<string, string> = {};
  for (const v of variables) {
    const text = typed[v.name] ?? v.initial;
    if (text === "") continue;
    try {
      values[v.name] = parsed(v, text);
    } catch {
      wrong[v.name] = v.kind === "number" ? "This is not a number." : "This is not valid JSON.";
    }
  }
  return { values, wrong };
}

function parsed({ kind }: Variable, text: string): unknown {
  if (kind === "string") return text;
  if (kind === "number") {
    if (text.trim() === "" || !Number.isFinite(Number(text))) throw new TypeError("not a number");
    return Number(text);
  }
  if (kind !== "any") return JSON.parse(text) as unknown;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** The required variables without a value. */
export function missingOf(variables: readonly Variable[], values: Record<string, unknown>): string[] {
  return variables.filter((v) => v.required && values[v.name] === undefined).map((v) => v.name);
}
