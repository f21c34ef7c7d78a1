import type { Variables } from "../types";
import { problemWords, type Row, rowOfValues, type VariableField, valuesOfRow } from "./variables";

/** The most rows of a run, by the server. */
export const maxRows = 200;
/** The largest file that the page reads. */
export const maxFileBytes = 4_000_000;

/** A place of a file that cannot be a row, counted from line 1. */
export interface RowProblem {
  line: number;
  message: string;
}

/** The rows of a file with their lines, and what is wrong with the others. */
export interface ReadRows {
  rows: { line: number; row: Row }[];
  problems: RowProblem[];
  /** Columns of the file that no prompt has. */
  unknown: string[];
  /** The file has more rows than a run may have. */
  cut: boolean;
}

/** Reads rows out of a file: CSV with a head, JSONL with an object on each line, or a JSON list of objects. */
export function readRows(name: string, text: string, fields: readonly VariableField[]): ReadRows {
  const clean = text.replace(/^\uFEFF/, "");
  const json = /\.(jsonl|ndjson|json)$/i.test(name) || /^\s*[[{]/.test(clean);
  const { found, problems } = json ? (/^\s*\[/.test(clean) ? readList(clean) : readLines(clean)) : readTable(clean);
  return check(found, problems, fields);
}

interface Found {
  line: number;
  values: Variables;
}

function check(found: Found[], problems: RowProblem[], fields: readonly VariableField[]): ReadRows {
  const known = new Set(fields.map((f) => f.name));
  const unknown = new Set<string>();
  const rows: ReadRows["rows"] = [];
  let cut = false;
  for (const { line, values } of found) {
    for (const name of Object.keys(values)) if (!known.has(name)) unknown.add(name);
    const row = rowOfValues(Object.fromEntries(Object.entries(values).filter(([name]) => known.has(name))));
    const wrong = valuesOfRow(fields, row).problems;
    if (Object.keys(wrong).length > 0) problems.push({ line, message: problemWords(wrong) });
    else if (rows.length >= maxRows) cut = true;
    else rows.push({ line, row });
  }
  problems.sort((a, b) => a.line - b.line);
  return { rows, problems, unknown: [...unknown], cut };
}

function readLines(text: string): { found: Found[]; problems: RowProblem[] } {
  const found: Found[] = [];
  const problems: RowProblem[] = [];
  text.split(/\r\n|\n|\r/).forEach((source, i) => {
    if (source.trim() === "") return;
    const parsed = parseObject(source);
    if ("values" in parsed) found.push({ line: i + 1, values: parsed.values });
    else problems.push({ line: i + 1, message: parsed.problem });
  });
  return { found, problems };
}

function readList(text: string): { found: Found[]; problems: RowProblem[] } {
  try {
    const list = JSON.parse(text) as unknown[];
    const found: Found[] = [];
    const problems: RowProblem[] = [];
    list.forEach((value, i) => {
      if (isObject(value)) found.push({ line: i + 1, values: value });
      else problems.push({ line: i + 1, message: "The element is not an object of variables." });
    });
    return { found, problems };
  } catch (error) {
    return { found: [], problems: [{ line: 1, message: notJSON(error) }] };
  }
}

function parseObject(text: string): { values: Variables } | { problem: string } {
  try {
    const value = JSON.parse(text) as unknown;
    return isObject(value) ? { values: value } : { problem: "The line is not an object of variables." };
  } catch (error) {
    return { problem: notJSON(error) };
  }
}

function isObject(value: unknown): value is Variables {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function notJSON(error: unknown): string {
  return `The line is not JSON: ${error instanceof Error ? error.message : String(error)}`;
}

function readTable(text: string): { found: Found[]; problems: RowProblem[] } {
  const { records, problems } = recordsOf(text, separatorOf(text));
  const [head, ...rest] = records;
  if (!head) return { found: [], problems: problems.length > 0 ? problems : [{ line: 1, message: "The file is empty." }] };
  const names = head.fields.map((f) => f.trim());
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (names.includes("")) return { found: [], problems: [{ line: head.line, message: "A column of the head has no name." }] };
  if (twice !== undefined) return { found: [], problems: [{ line: head.line, message: `The head has ${twice} twice.` }] };
  const found: Found[] = [];
  for (const { line, fields } of rest) {
    if (fields.length !== names.length) {
      problems.push({ line, message: `The row has ${fields.length} fields, and the head has ${names.length}.` });
    } else {
      found.push({ line, values: Object.fromEntries(names.map((name, i) => [name, fields[i] ?? ""])) });
    }
  }
  return { found, problems };
}

/** The separator that the first line has most of: comma, semicolon or tab. */
function separatorOf(text: string): string {
  const head = text.split(/\r|\n/, 1)[0] ?? "";
  const counts = [",", ";", "\t"].map((s) => ({ s, n: head.split(s).length }));
  counts.sort((a, b) => b.n - a.n);
  return counts[0]?.s ?? ",";
}

interface CSVRecord {
  line: number;
  fields: string[];
}

/** The records of CSV: fields may stand in quotes, and then hold separators, line breaks and doubled quotes. */
export function recordsOf(text: string, separator: string): { records: CSVRecord[]; problems: RowProblem[] } {
  const records: CSVRecord[] = [];
  const problems: RowProblem[] = [];
  let line = 1;
  let start = 1;
  let fields: string[] = [];
  let at = 0;
  const end = () => {
    if (fields.length > 1 || fields[0] !== "") records.push({ line: start, fields });
    fields = [];
    start = line;
  };
  while (at < text.length) {
    const field = text[at] === '"' ? quoted(text, at) : plain(text, at, separator);
    if (field.open) problems.push({ line, message: "A quote is opened and never closed." });
    fields.push(field.value);
    line += field.value.split("\n").length - 1;
    at = field.end;
    if (at >= text.length) break;
    if (text[at] === separator) {
      at++;
      if (at >= text.length) fields.push("");
    } else {
      at += text.startsWith("\r\n", at) ? 2 : 1;
      line++;
      end();
    }
  }
  if (fields.length > 0) end();
  return problems.length > 0 ? { records: records.filter((r) => r.line < (problems[0]?.line ?? 0)), problems } : { records, problems };
}

function plain(text: string, from: number, separator: string): { value: string; end: number; open: boolean } {
  let end = from;
  while (end < text.length && text[end] !== separator && text[end] !== "\n" && text[end] !== "\r") end++;
  return { value: text.slice(from, end), end, open: false };
}

function quoted(text: string, from: number): { value: string; end: number; open: boolean } {
  let value = "";
  let at = from + 1;
  for (;;) {
    const close = text.indexOf('"', at);
    if (close < 0) return { value: value + text.slice(at), end: text.length, open: true };
    value += text.slice(at, close);
    at = close + 1;
    if (text[at] !== '"') break;
    value += '"';
    at++;
  }
  // Text behind the closing quote is kept as it is: spreadsheets read it so.
  let end = at;
  while (end < text.length && !/[,;\t\n\r]/.test(text[end] ?? "")) end++;
  return { value: value + text.slice(at, end), end, open: false };
}
