import type { Column, Editor, Tool } from "./editor";
import type { Effective } from "./prompt";

/** A tool over all columns: its definition, its simulated result, and the columns that have it. */
export interface SharedTool {
  name: string;
  definition: Tool;
  /** null: a call of the tool ends the output. */
  result: string | null;
  columns: readonly number[];
}

/** The tools of all columns by their names, in the order of the columns. */
export function toolsOf(columns: readonly Column[], effective: readonly Pick<Effective, "tools">[]): SharedTool[] {
  const found = new Map<string, SharedTool>();
  effective.forEach((e, at) => {
    for (const tool of e.tools) {
      const name = tool.function?.name;
      if (!name) continue;
      const old = found.get(name);
      const result = columns[at]?.toolResults[name] ?? null;
      if (old) found.set(name, { ...old, result: old.result ?? result, columns: [...old.columns, at] });
      else found.set(name, { name, definition: tool, result, columns: [at] });
    }
  });
  return [...found.values()];
}

/** What a person sets for a tool. */
export interface ToolOrder {
  definition: Tool;
  result: string | null;
  columns: readonly number[];
}

/** Adds, changes or removes (null) a tool. Columns that use the tools of their prompt keep these, and get the change as their own. */
export function withTool(
  editor: Editor,
  effective: readonly Pick<Effective, "tools">[],
  name: string | null,
  order: ToolOrder | null,
): Editor {
  const columns = editor.columns.map((column, at) => {
    const now = effective[at]?.tools ?? [];
    const has = now.some((t) => t.function.name === name);
    const wants = order?.columns.includes(at) ?? false;
    if (!has && !wants) return column;
    const definition = order && wants ? order.definition : null;
    const same = has && definition !== null && JSON.stringify(now.find((t) => t.function.name === name)) === JSON.stringify(definition);
    const tools = same ? column.tools : replaced(now, name, definition);
    const { [name ?? ""]: _, ...results } = column.toolResults;
    const toolResults = definition && order?.result != null ? { ...results, [definition.function.name]: order.result } : results;
    return { ...column, tools, toolResults };
  });
  return { ...editor, columns };
}

function replaced(tools: readonly Tool[], name: string | null, definition: Tool | null): Tool[] {
  if (tools.some((t) => t.function.name === name)) {
    return tools.flatMap((t) => (t.function.name === name ? (definition ?? []) : t));
  }
  return definition ? [...tools, definition] : [...tools];
}

/** Reads the definition of a tool from text: a tool of a chat completion, or its function alone. */
export function readTool(text: string): { tool: Tool } | { problem: string } {
  try {
    const value = JSON.parse(text) as { type?: string; function?: Tool["function"]; name?: string } | null;
    const fn = value?.function ?? (value?.name ? (value as Tool["function"]) : undefined);
    if (!fn?.name) return { problem: "The function needs a name." };
    if (!/^[\w-]{1,64}$/.test(fn.name)) return { problem: "The name has letters, digits, _ and -, and at most 64 of them." };
    return { tool: { type: "function", function: fn } };
  } catch (error) {
    return { problem: `It is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** The name of a response format: that of its schema, or its type. null for text. */
export function formatName(format: unknown): string | null {
  const f = format as { type?: string; json_schema?: { name?: string; strict?: boolean } } | null | undefined;
  if (!f?.type || f.type === "text") return null;
  return f.type === "json_schema" ? `${f.json_schema?.name ?? "schema"}${f.json_schema?.strict ? " · strict" : ""}` : f.type;
}

/** Reads a response format from text: the whole format, or the JSON Schema alone. */
export function readFormat(text: string): { format: unknown } | { problem: string } {
  if (text.trim() === "") return { format: null };
  try {
    const value = JSON.parse(text) as Record<string, unknown> | null;
    if (typeof value !== "object" || value === null || Array.isArray(value)) return { problem: "It is not a JSON object." };
    const whole = value.type === "json_schema" || value.type === "json_object" || value.type === "text";
    if (whole) return { format: value.type === "text" ? null : value };
    return { format: { type: "json_schema", json_schema: { name: nameFor(value), strict: true, schema: value } } };
  } catch (error) {
    return { problem: `It is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function nameFor(schema: Record<string, unknown>): string {
  const title = typeof schema.title === "string" ? schema.title.replaceAll(/[^\w-]+/g, "_").slice(0, 64) : "";
  return title || "answer";
}
