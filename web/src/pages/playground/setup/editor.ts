import type { Params, PromptRef } from "../types";
import { newKey } from "./key";
import { type Content, newMessage } from "./messages";
import type { Row } from "./variables";

export const maxColumns = 4;
export const maxTrials = 10;
/** Cells of a run: columns × rows × trials. */
export const maxCells = 400;

export const letters = ["A", "B", "C", "D"] as const;

/** The text of a column: a saved prompt, or text that is not saved. */
export type Source =
  | { from: "prompt"; ref: PromptRef }
  | {
      from: "text";
      content: Content;
      /** The saved prompt that the text was copied from. */
      origin: { name: string; version: number | null } | null;
    };

export interface Tool {
  type: string;
  function: { name: string; description?: string; parameters?: unknown; strict?: boolean };
}

export interface Column {
  key: string;
  source: Source;
  /** null: the model of the prompt. */
  model: string | null;
  params: Params;
  /** null: the tools of the prompt. */
  tools: readonly Tool[] | null;
  /** Simulated results by the name of the tool. */
  toolResults: Readonly<Record<string, string>>;
  /** null: that of the prompt. */
  responseFormat: unknown;
  /** The number of this column in the shown run; null: it was not in it. Columns may come and go after a run. */
  ran: number | null;
}

/** Everything that a person sets up. It is valid JSON at all times; texts of rows are checked when they are sent. */
export interface Editor {
  columns: readonly Column[];
  rows: readonly Row[];
  trials: number;
  /** The row that the form and the outputs show. */
  row: number;
}

export function newColumn(source: Source, model: string | null = null): Column {
  return { key: newKey(), source, model, params: {}, tools: null, toolResults: {}, responseFormat: null, ran: null };
}

export function textSource(messages = [newMessage("user")]): Source {
  return { from: "text", content: { messages, inputSchema: null }, origin: null };
}

/** The first setup of a person: it runs as it is, and shows a variable. */
export function firstEditor(): Editor {
  const messages = [newMessage("system", "You answer in one short paragraph."), newMessage("user", "{{question}}")];
  return { columns: [newColumn(textSource(messages))], rows: [{ question: "What is a penstock?" }], trials: 1, row: 0 };
}

/** A setup with one saved prompt. */
export function promptEditor(ref: PromptRef): Editor {
  return { columns: [newColumn({ from: "prompt", ref })], rows: [{}], trials: 1, row: 0 };
}

export function withColumn(editor: Editor, at: number, change: Partial<Omit<Column, "key">>): Editor {
  return { ...editor, columns: editor.columns.map((c, i) => (i === at ? { ...c, ...change } : c)) };
}

/** A copy of a column at the end. */
export function addColumn(editor: Editor, from = editor.columns.length - 1): Editor {
  const copied = editor.columns[from];
  if (!copied || editor.columns.length >= maxColumns) return editor;
  return { ...editor, columns: [...editor.columns, { ...copied, key: newKey(), ran: null }] };
}

export function removeColumn(editor: Editor, at: number): Editor {
  return editor.columns.length > 1 ? { ...editor, columns: editor.columns.filter((_, i) => i !== at) } : editor;
}

/** Settings, tools and response schema of one column for all columns. */
export function copySettings(editor: Editor, from: number): Editor {
  const source = editor.columns[from];
  if (!source) return editor;
  const { params, tools, toolResults, responseFormat } = source;
  return { ...editor, columns: editor.columns.map((c, i) => (i === from ? c : { ...c, params, tools, toolResults, responseFormat })) };
}

/** The setup of a run that begins now: each column has its place in it. */
export function asRun(editor: Editor): Editor {
  return { ...editor, columns: editor.columns.map((c, i) => ({ ...c, ran: i })) };
}

export function setVariable(editor: Editor, name: string, text: string): Editor {
  return { ...editor, rows: editor.rows.map((row, i) => (i === editor.row ? { ...row, [name]: text } : row)) };
}

/** Rows of a file, or of the table. At least one row stays. */
export function withRows(editor: Editor, rows: readonly Row[]): Editor {
  const kept = rows.length === 0 ? [{}] : rows;
  return { ...editor, rows: kept, row: Math.min(editor.row, kept.length - 1) };
}

export function addRow(editor: Editor): Editor {
  return { ...editor, rows: [...editor.rows, {}], row: editor.rows.length };
}

export function removeRow(editor: Editor, at: number): Editor {
  return withRows(
    editor,
    editor.rows.filter((_, i) => i !== at),
  );
}

export function showRow(editor: Editor, row: number): Editor {
  return { ...editor, row: Math.max(0, Math.min(row, editor.rows.length - 1)) };
}

export function cellCount(editor: Pick<Editor, "columns" | "rows" | "trials">): number {
  return editor.columns.length * editor.rows.length * editor.trials;
}
