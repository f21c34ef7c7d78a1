import { queryOptions } from "@tanstack/react-query";
import { basePath } from "@/api";
import { ApiError, errorOf } from "@/api/error";

/** The members of an OpenAPI document that the page reads. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: Schema | boolean;
  anyOf?: Schema[];
  enum?: string[];
  pattern?: string;
  examples?: unknown[];
  deprecated?: boolean;
}

export interface Param {
  name: string;
  in: "path" | "query" | "header";
  description: string;
  required: boolean;
  schema: Schema;
}

export interface Media {
  schema?: Schema;
  example?: unknown;
}

export interface Answer {
  $ref?: string;
  description?: string;
  headers?: Record<string, { description: string; schema: Schema }>;
  content?: Record<string, Media>;
}

export interface RawOperation {
  operationId: string;
  summary: string;
  description?: string;
  tags: string[];
  deprecated?: boolean;
  security?: Record<string, string[]>[];
  parameters?: Param[];
  requestBody?: { required: boolean; content: Record<string, Media> };
  responses: Record<string, Answer>;
}

export interface Operation extends RawOperation {
  method: string; // GET, POST, …
  path: string;
}

export interface Spec {
  info: { title: string; version: string; description: string; "x-api-version": string; "x-api-versions": string[] };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, RawOperation>>;
  components: { schemas: Record<string, Schema>; responses: Record<string, Answer> };
}

/** The document of a version; absent: of the version that the server answers with by default. */
export function specQuery(version: string | undefined) {
  return queryOptions({
    queryKey: ["", "/openapi.json", version ?? ""],
    queryFn: async ({ signal }): Promise<Spec> => {
      const headers: Record<string, string> = version ? { "penstock-version": version } : {};
      const response = await fetch(`${basePath}/openapi.json`, { headers, signal }).catch((error: unknown) => {
        if (error instanceof DOMException) throw error;
        throw new ApiError(0, { message: "The server cannot be reached." }, null);
      });
      if (!response.ok) throw await errorOf(response);
      return (await response.json()) as Spec;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** All operations, in the order of the document. */
export function operationsOf(spec: Spec): Operation[] {
  return Object.entries(spec.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, op]) => ({ ...op, path, method: method.toUpperCase() })),
  );
}

export interface Group {
  name: string;
  about: string;
  operations: Operation[];
}

/** The operations by tag, in the order of the tags; tags without operations are left out. */
export function groupsOf(spec: Spec, operations: readonly Operation[]): Group[] {
  return spec.tags
    .map((tag) => ({ name: tag.name, about: tag.description, operations: operations.filter((o) => o.tags[0] === tag.name) }))
    .filter((group) => group.operations.length > 0);
}

/** The operations in which every typed word occurs: in the method, the path, the summary or the tag. */
export function searchOperations(operations: readonly Operation[], typed: string): Operation[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  return operations.filter((o) => {
    const text = `${o.method} ${o.path} ${o.summary} ${o.tags.join(" ")} ${o.operationId}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** The words of a tag: `dead_letters` is "Dead letters". */
export function tagTitle(name: string): string {
  const words = name.replaceAll("_", " ");
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

/** The schema behind a reference, and the name of the last reference. */
export function resolve(spec: Spec, schema: Schema): { schema: Schema; name: string | null } {
  let at = schema;
  let name: string | null = null;
  for (let depth = 0; at.$ref && depth < 8; depth++) {
    name = at.$ref.split("/").at(-1) ?? null;
    at = (name && spec.components.schemas[name]) || {};
  }
  return { schema: at, name };
}

/** The answer behind a reference. */
export function answerOf(spec: Spec, answer: Answer): Answer {
  const name = answer.$ref?.split("/").at(-1);
  return (name && spec.components.responses[name]) || answer;
}

/** Who may call an operation, out of its description and its security: scopes of keys, roles of people, or nobody's key at all. */
export function accessOf(op: Operation): { scopes: string[]; roles: string[]; open: boolean } {
  const text = op.description ?? "";
  const roles = /\brole(?: in the tenant)?: ((?:`[a-z]+`(?:, | and | or )?)+)/.exec(text)?.[1] ?? "";
  const scopes = /with the scope `([a-z:]+)`/.exec(text)?.[1];
  return {
    scopes: scopes ? [scopes] : [],
    roles: [...roles.matchAll(/`([a-z]+)`/g)].map((m) => m[1] ?? ""),
    open: op.security?.length === 0,
  };
}

/** The description without the sentence about access, which accessOf says. */
export function aboutOf(op: Operation): string {
  return (op.description ?? "").replace(/Needs (?:a key with the scope|a role|no key)[^.]*\.\s*/, "").trim();
}

/** Whether a person can call it on this listener: parts of the admin API are on a listener of their own. */
export function canTry(op: Operation): boolean {
  const text = op.description ?? "";
  return !text.startsWith("On the admin listener") || text.includes("for people on the public listener");
}
