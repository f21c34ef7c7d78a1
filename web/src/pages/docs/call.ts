import type { Operation, Param } from "./spec";

/** The values of parameters, by name. Empty ones are not sent. */
export type Values = Readonly<Record<string, string>>;

/** The path of a call with its parameters, and its query. Path parameters without a value stay as `{name}`. */
export function addressOf(op: Operation, values: Values): string {
  const path = op.path.replace(/\{([^}]+)\}/g, (whole, name: string) => (values[name] ? encodeURIComponent(values[name]) : whole));
  const query = new URLSearchParams();
  for (const p of paramsIn(op, "query")) if (values[p.name]) query.append(p.name, values[p.name] ?? "");
  return query.size > 0 ? `${path}?${query}` : path;
}

export function headersOf(op: Operation, values: Values): Record<string, string> {
  return Object.fromEntries(paramsIn(op, "header").flatMap((p) => (values[p.name] ? [[p.name, values[p.name] ?? ""]] : [])));
}

export function paramsIn(op: Operation, where: Param["in"]): Param[] {
  return (op.parameters ?? []).filter((p) => p.in === where);
}

/** The names of required parameters without a value. */
export function missingIn(op: Operation, values: Values): string[] {
  return (op.parameters ?? []).filter((p) => p.required && !values[p.name]).map((p) => p.name);
}

/** Whether the operation takes a form with a file. */
export function takesForm(op: Operation): boolean {
  return op.requestBody?.content["multipart/form-data"] !== undefined;
}

/** Whether the call changes something, so that a person must be asked first. */
export function changes(op: Operation): boolean {
  return op.method !== "GET" && op.method !== "HEAD";
}
