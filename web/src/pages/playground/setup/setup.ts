import type { Setup, SetupColumn } from "../api";
import type { Message, Params, Variables } from "../types";
import { type Column, cellCount, type Editor, maxCells, newColumn, type Tool } from "./editor";
import { editedMessages, sentMessages } from "./messages";
import { problemWords, rowOfValues, type VariableField, valuesOfRow } from "./variables";

/** The setup of a run as the API takes it, or the reason why there is none. */
export type Made = { setup: Setup; problem: null } | { setup: null; problem: string };

/** Makes the setup of an editor: texts of rows become values of their fields. */
export function setupOf(editor: Editor, fields: readonly VariableField[]): Made {
  const rows: Variables[] = [];
  for (const [i, row] of editor.rows.entries()) {
    const { values, problems } = valuesOfRow(fields, row);
    if (Object.keys(problems).length > 0) {
      const where = editor.rows.length > 1 ? `Row ${i + 1}: ` : "";
      return { setup: null, problem: `${where}${problemWords(problems)}.` };
    }
    rows.push(values);
  }
  const cells = cellCount(editor);
  if (cells > maxCells) return { setup: null, problem: `These are ${cells} calls. A run has at most ${maxCells}.` };
  return { setup: { columns: editor.columns.map(columnOf), rows, trials: editor.trials }, problem: null };
}

function columnOf(column: Column): SetupColumn {
  const { source } = column;
  return {
    prompt: source.from === "prompt" ? source.ref : null,
    content:
      source.from === "text"
        ? {
            kind: "chat",
            messages: sentMessages(source.content.messages),
            ...(source.content.inputSchema === null ? {} : { input_schema: source.content.inputSchema }),
          }
        : null,
    model: column.model,
    params: column.params,
    tools: column.tools as SetupColumn["tools"],
    tool_results: { ...column.toolResults },
    response_format: column.responseFormat as SetupColumn["response_format"],
  } as SetupColumn;
}

/** The editor of a stored setup. */
export function editorOf(setup: Setup): Editor {
  const rows = setup.rows.length === 0 ? [{}] : setup.rows.map((r) => rowOfValues(r as Variables));
  return { columns: setup.columns.map((c, i) => ({ ...editedColumn(c), ran: i })), rows, trials: setup.trials, row: 0 };
}

function editedColumn(c: SetupColumn): Column {
  const content = c.content as { messages?: Message[]; input_schema?: unknown } | null | undefined;
  const column = newColumn(
    c.prompt
      ? { from: "prompt", ref: c.prompt as never }
      : {
          from: "text",
          content: { messages: editedMessages(content?.messages ?? []), inputSchema: content?.input_schema ?? null },
          origin: null,
        },
    c.model ?? null,
  );
  return {
    ...column,
    params: (c.params ?? {}) as Params,
    tools: (c.tools ?? null) as Tool[] | null,
    toolResults: (c.tool_results ?? {}) as Record<string, string>,
    responseFormat: c.response_format ?? null,
  };
}

/** Whether two editors set up the same run. Keys and the shown row do not count. */
export function sameSetup(a: Editor, b: Editor): boolean {
  return plain(a) === plain(b);
}

/** A setup as text: the order of members and empty texts do not count. */
function plain(editor: Editor): string {
  const rows = editor.rows.map((row) => Object.fromEntries(Object.entries(row).filter(([, text]) => text !== "")));
  return JSON.stringify([editor.columns.map(columnOf), rows, editor.trials], (_, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([x], [y]) => (x < y ? -1 : 1)))
      : value,
  );
}
