import { parseExact, printExact, type Schemas } from "@/api";
import type { Message, Version } from "../prompt";

type Order = Schemas["PromptDraftOrder"];
type Sent = Schemas["PromptMessageSent"];
type Draft = Schemas["PromptDraft"];

export const roles = ["system", "developer", "user", "assistant", "tool"] as const;
export type MessageRole = (typeof roles)[number];

/** A text of a message. `shared` is its name among those who edit the draft; null until the server knows the text. */
export interface TextPart {
  id: string;
  type: "text";
  text: string;
  shared: string | null;
}

/** A part of a message: a text, or an image by its address. Both are templates. */
export type Part = TextPart | { id: string; type: "image"; url: string; detail: string };

/** A message in the form. `id` is its identity while it moves. */
export interface FormMessage {
  id: string;
  role: MessageRole | "placeholder";
  parts: Part[];
  /** The server has the content as a list of parts, also where it is one text. */
  listed: boolean;
  name: string;
  /** JSON; empty for none. */
  toolCalls: string;
  toolCallId: string;
  /** The variable of a placeholder. */
  variable: string;
}

/** The settings that have a field of their own. */
export const numberSettings = ["temperature", "top_p", "max_tokens"] as const;
export type NumberSetting = (typeof numberSettings)[number];

export interface ConfigForm {
  model: string;
  numbers: Record<NumberSetting, string>;
  /** JSON; empty for none. */
  tools: string;
  responseFormat: string;
  /** All other members, as one JSON object; empty for none. */
  other: string;
}

/** A draft while a person edits it. A prompt of kind text has one message. */
export interface Form {
  kind: "text" | "chat";
  messages: FormMessage[];
  config: ConfigForm;
  /** JSON; empty: the schema is derived from the templates. */
  schema: string;
}

/** A mistake, at the place that the API would name. */
export interface Mistake {
  place: string;
  message: string;
}

let made = 0;

/** An identity for a message or a part of the form. It never leaves the page. */
export function newId(): string {
  made += 1;
  return `m${made}`;
}

export function emptyMessage(role: FormMessage["role"] = "user", text = ""): FormMessage {
  return {
    id: newId(),
    role,
    parts: [{ id: newId(), type: "text", text, shared: null }],
    listed: false,
    name: "",
    toolCalls: "",
    toolCallId: "",
    variable: role === "placeholder" ? "history" : "",
  };
}

const json = (value: unknown) => (value === undefined || value === null ? "" : printExact(value, 2));

/** The form of a draft or a version. Its config and its schema may have integers of `parseExact`. */
export function formOf(content: Pick<Draft | Version, "kind" | "text" | "messages" | "config" | "input_schema">): Form {
  return {
    kind: content.kind,
    messages: content.kind === "text" ? [emptyMessage("user", content.text ?? "")] : (content.messages ?? []).map(messageForm),
    config: configForm(content.config ?? {}),
    schema: json(content.input_schema),
  };
}

function messageForm(message: Message): FormMessage {
  const { content = "" } = message;
  const parts = typeof content === "string" ? [{ id: newId(), type: "text" as const, text: content, shared: null }] : content.map(partForm);
  return {
    id: newId(),
    role: message.placeholder ? "placeholder" : (roles.find((r) => r === message.role) ?? "user"),
    parts,
    listed: typeof content !== "string",
    name: message.name ?? "",
    toolCalls: json(message.tool_calls),
    toolCallId: message.tool_call_id ?? "",
    variable: message.placeholder ?? "",
  };
}

function partForm(part: Schemas["PromptPart"]): Part {
  const id = newId();
  return part.image_url
    ? { id, type: "image", url: part.image_url.url, detail: part.image_url.detail ?? "" }
    : { id, type: "text", text: part.text ?? "", shared: null };
}

function configForm(config: Record<string, unknown>): ConfigForm {
  const { model, tools, response_format, ...rest } = config;
  const numbers: ConfigForm["numbers"] = { temperature: "", top_p: "", max_tokens: "" };
  for (const name of numberSettings) {
    if (typeof rest[name] !== "number") continue; // a value of another kind stays among the others, where it can be seen
    numbers[name] = String(rest[name]);
    delete rest[name];
  }
  const text = typeof model === "string" ? model : "";
  return {
    model: text,
    numbers,
    tools: json(tools),
    responseFormat: json(response_format),
    other: Object.keys(rest).length === 0 ? "" : json(rest),
  };
}

/** The body of a draft, and the mistakes that keep the form from being one: texts that must be JSON and are not. */
export function orderOf(form: Form): { order: Order; mistakes: Mistake[] } {
  const mistakes: Mistake[] = [];
  const parse = (place: string, text: string): unknown => {
    if (text.trim() === "") return undefined;
    try {
      return parseExact(text);
    } catch (error) {
      mistakes.push({ place, message: `This is not valid JSON: ${error instanceof Error ? error.message : "it cannot be read"}.` });
      return undefined;
    }
  };
  const order: Order = { kind: form.kind };
  if (form.kind === "text") order.text = textOf(form.messages[0]);
  else order.messages = form.messages.map((m, i) => sentMessage(m, (text) => parse(`messages[${i}].tool_calls`, text)));
  const config = sentConfig(form.config, parse, mistakes);
  if (Object.keys(config).length > 0) order.config = config;
  const schema = parse("input_schema", form.schema);
  if (schema !== undefined) order.input_schema = schema;
  return { order, mistakes };
}

function textOf(message: FormMessage | undefined): string {
  const part = message?.parts[0];
  return part?.type === "text" ? part.text : "";
}

function sentMessage(m: FormMessage, parse: (text: string) => unknown): Sent {
  if (m.role === "placeholder") return { placeholder: m.variable };
  const calls = m.role === "assistant" ? parse(m.toolCalls) : undefined;
  return {
    role: m.role,
    content: m.parts.length === 1 && m.parts[0]?.type === "text" && !m.listed ? m.parts[0].text : m.parts.map(sentPart),
    ...(m.name ? { name: m.name } : {}),
    ...(calls === undefined ? {} : { tool_calls: calls as NonNullable<Sent["tool_calls"]> }),
    ...(m.role === "tool" ? { tool_call_id: m.toolCallId } : {}),
  };
}

function sentPart(part: Part): Schemas["PromptPartSent"] {
  if (part.type === "text") return { type: "text", text: part.text };
  return { type: "image_url", image_url: { url: part.url, ...(part.detail ? { detail: part.detail } : {}) } };
}

function sentConfig(form: ConfigForm, parse: (place: string, text: string) => unknown, mistakes: Mistake[]): Record<string, unknown> {
  const other = parse("config", form.other) ?? {};
  const config: Record<string, unknown> = {};
  if (typeof other === "object" && !Array.isArray(other)) Object.assign(config, other);
  else mistakes.push({ place: "config", message: "Other settings must be one JSON object." });
  if (form.model.trim() !== "") config.model = form.model.trim();
  for (const name of numberSettings) {
    const text = form.numbers[name].trim();
    if (text === "") continue;
    if (Number.isFinite(Number(text))) config[name] = Number(text);
    else mistakes.push({ place: `config.${name}`, message: "This is not a number." });
  }
  const tools = parse("config.tools", form.tools);
  if (tools !== undefined) config.tools = tools;
  const format = parse("config.response_format", form.responseFormat);
  if (format !== undefined) config.response_format = format;
  return config;
}

/** A problem that the server names, at its place in the form. Lines count from 1. */
export interface PlacedProblem extends Mistake {
  line: number | null;
}

/** The place and the line of a problem of the server. Its message begins with both, and the form shows it there without them. */
export function placeOf(problem: { param?: string | null; message: string }): PlacedProblem {
  const place = problem.param ?? "";
  const rest = problem.message.startsWith(`${place}: `) ? problem.message.slice(place.length + 2) : problem.message;
  const at = /^line (\d+), column \d+: /.exec(rest);
  return { place, line: at ? Number(at[1]) : null, message: rest };
}

/** The problems inside a place: `messages[1].content` has those of `messages[1].content[0]`, too. */
export function within(problems: readonly PlacedProblem[], place: string): PlacedProblem[] {
  return problems.filter((p) => p.place === place || p.place.startsWith(`${place}.`) || p.place.startsWith(`${place}[`));
}

/** Moves a message one place up or down. */
export function moved<T>(list: readonly T[], index: number, by: -1 | 1): T[] {
  const to = index + by;
  const [one, other] = [list[index], list[to]];
  if (one === undefined || other === undefined) return [...list];
  const out = [...list];
  out[index] = other;
  out[to] = one;
  return out;
}

/** The texts of a form, in the order in which the API has them. */
export function textsOf(form: Form): TextPart[] {
  return form.messages.filter((m) => m.role !== "placeholder").flatMap((m) => m.parts.filter((p) => p.type === "text"));
}

/** A form with other texts. */
export function withTexts(form: Form, change: (part: TextPart) => TextPart): Form {
  return { ...form, messages: form.messages.map((m) => ({ ...m, parts: m.parts.map((p) => (p.type === "text" ? change(p) : p)) })) };
}
