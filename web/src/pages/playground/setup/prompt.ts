import { queryOptions } from "@tanstack/react-query";
import { api, dataOf, read, type Schemas } from "@/api";
import type { Message, Params, PromptRef } from "../types";
import type { Column, Tool } from "./editor";
import { type Content, editedMessages, placeholdersOf, templatesOf } from "./messages";
import { partialsOf } from "./template";
import { fieldsOfContent, type VariableField } from "./variables";

/** A saved prompt with everything that a column shows of it. */
export interface LoadedPrompt {
  name: string;
  /** null: the draft. */
  version: number | null;
  content: Content;
  config: Params;
  fields: readonly VariableField[];
  /** Why the draft cannot run. */
  problem: string | null;
}

/** How many included prompts the page reads to find the variables of a prompt without a schema. */
const mostPartials = 24;

/** The version that a reference means now. */
async function versionOf(tenant: string, { name, label, version }: PromptRef, signal: AbortSignal): Promise<Schemas["PromptVersion"]> {
  const number =
    version ??
    (
      await dataOf(
        api(tenant).GET("/v1/prompts/{name}/labels/{label}", { params: { path: { name, label: label ?? "production" } }, signal }),
      )
    ).version;
  return dataOf(api(tenant).GET("/v1/prompts/{name}/versions/{version}", { params: { path: { name, version: String(number) } }, signal }));
}

interface Templates {
  kind: string;
  text?: string | null;
  messages?: readonly unknown[] | null;
}

function contentOf({ kind, text, messages }: Templates, inputSchema: unknown): Content {
  const all = kind === "text" ? [{ role: "user", content: text ?? "" }] : ((messages ?? []) as Message[]);
  return { messages: editedMessages(all), inputSchema: inputSchema ?? null };
}

/** Reads a saved prompt, and the prompts that it includes where its variables have no schema. */
async function load(tenant: string, ref: PromptRef, signal: AbortSignal): Promise<LoadedPrompt> {
  if (ref.draft) {
    const draft = await dataOf(api(tenant).GET("/v1/prompts/{name}/draft", { params: { path: { name: ref.name } }, signal }));
    const content = contentOf(draft, draft.input_schema);
    const fields = await fieldsOf(tenant, content, signal);
    return { name: ref.name, version: null, content, config: draft.config ?? {}, fields, problem: draft.problem?.message ?? null };
  }
  const version = await versionOf(tenant, ref, signal);
  const content = contentOf(version, version.input_schema);
  const fields = await fieldsOf(tenant, content, signal);
  return { name: ref.name, version: version.version, content, config: version.config ?? {}, fields, problem: null };
}

/** The fields of a content: by its schema, or by its templates and those that they include. */
async function fieldsOf(tenant: string, content: Content, signal: AbortSignal): Promise<VariableField[]> {
  const partials = content.inputSchema === null ? partialsOf(templatesOf(content.messages)) : [];
  return ownFields(content, await includedTemplates(tenant, partials, signal));
}

/** The templates of included prompts, and of those that these include. */
async function includedTemplates(tenant: string, partials: readonly string[], signal: AbortSignal): Promise<string[]> {
  const seen = new Set<string>();
  const templates: string[] = [];
  let open = partials;
  while (open.length > 0 && seen.size < mostPartials) {
    const next = open.slice(0, mostPartials - seen.size);
    for (const p of next) seen.add(p);
    const texts = await Promise.all(next.map((p) => partialText(tenant, p, signal)));
    templates.push(...texts);
    open = partialsOf(texts).filter((p) => !seen.has(p));
  }
  return templates;
}

/** The text of an included prompt; "" where it cannot be read: the server then names the missing variables. */
async function partialText(tenant: string, written: string, signal: AbortSignal): Promise<string> {
  const [name = "", which = "production"] = written.split("@");
  const ref: PromptRef = /^\d+$/.test(which) ? { name, version: Number(which) } : { name, label: which };
  try {
    return (await versionOf(tenant, ref, signal)).text ?? "";
  } catch {
    return "";
  }
}

/** The query of a saved prompt. Versions never change; labels and drafts are read again. */
export function promptQuery(tenant: string, ref: PromptRef) {
  return queryOptions({
    queryKey: [tenant, "/v1/prompts/{name}", "playground", ref],
    queryFn: ({ signal }) => load(tenant, ref, signal),
    staleTime: ref.version === undefined ? 10_000 : Number.POSITIVE_INFINITY,
    retry: false,
  });
}

/** The query of the templates that text includes. */
export function includedQuery(tenant: string, content: Content | null) {
  const partials = content === null || content.inputSchema !== null ? [] : partialsOf(templatesOf(content.messages));
  return queryOptions({
    queryKey: [tenant, "/v1/prompts/{name}", "included", partials],
    queryFn: ({ signal }) => includedTemplates(tenant, partials, signal),
    enabled: partials.length > 0,
    staleTime: 60_000,
  });
}

/** The fields of text, with the templates that it includes as far as they are known. */
export function ownFields(content: Content, included: readonly string[] = []): VariableField[] {
  return fieldsOfContent(content.inputSchema, [...templatesOf(content.messages), ...included], placeholdersOf(content.messages));
}

/** The models of a tenant, by name. */
export function modelsQuery(tenant: string) {
  return {
    ...read(tenant, "/v1/models"),
    staleTime: 60_000,
    select: (list: { data?: readonly { id?: string }[] }) => (list.data ?? []).flatMap((m) => m.id ?? []),
  };
}

/** What a column runs with: its own settings over those of its prompt. */
export interface Effective {
  model: string | null;
  params: Params;
  tools: readonly Tool[];
  responseFormat: unknown;
}

export function effectiveOf(column: Column, prompt: LoadedPrompt | undefined): Effective {
  const { model, tools, response_format, ...params } = prompt?.config ?? {};
  return {
    model: column.model ?? (typeof model === "string" ? model : null),
    params: { ...params, ...column.params },
    tools: column.tools ?? (Array.isArray(tools) ? (tools as Tool[]) : []),
    responseFormat: column.responseFormat ?? response_format ?? null,
  };
}

/** `v7`, `production`, `draft`: the words for a reference. */
export function refWords(ref: PromptRef): string {
  if (ref.draft) return "draft";
  return ref.version === undefined ? (ref.label ?? "production") : `v${ref.version}`;
}
