import type { Schemas } from "@/api";
import { diffLines } from "@/components/diff";
import { diffWords, type WordPart } from "@/components/words";
import { plural } from "@/format";

export type PromptDiff = Schemas["PromptDiff"];

/** A line of a difference. */
export interface Line {
  kind: "same" | "add" | "del";
  parts: WordPart[];
}

/** A part of a prompt that differs, or a message that stays. */
export interface Block {
  title: string;
  change: "same" | "changed" | "added" | "removed";
  /** Lines, or how many equal ones are left out. */
  lines: (Line | number)[];
}

const context = 3;

/** The blocks of a difference: messages, then members of config and schema, then included prompts. */
export function blocksOf(diff: PromptDiff): Block[] {
  return [
    ...diff.messages.map((m) => ({ title: messageTitle(m), change: m.change, lines: shorten(wordsOf(m.lines.map(lineOf))) })),
    ...diff.config.map((m) => memberBlock(`Config: ${m.name}`, m.from, m.to)),
    ...diff.input_schema.map((m) => memberBlock(`Input schema: ${m.name}`, m.from, m.to)),
    ...diff.references.map((r) => referenceBlock(r)),
  ];
}

function messageTitle(m: Schemas["PromptMessageDiff"]): string {
  if (m.role === "") return "Text";
  const place = m.from !== null && m.to !== null && m.from !== m.to ? `${m.from + 1}, now ${m.to + 1}` : `${(m.to ?? m.from ?? 0) + 1}`;
  return m.role === "placeholder" ? `Placeholder ${place}` : `Message ${place}: ${m.role}`;
}

const kinds = { same: "same", added: "add", removed: "del", changed: "add" } as const;

function lineOf(line: Schemas["PromptLineDiff"]): { kind: Line["kind"]; text: string } {
  return { kind: kinds[line.change], text: line.text };
}

function memberBlock(title: string, from: unknown, to: unknown): Block {
  const text = (value: unknown) => (value === null ? "" : JSON.stringify(value, null, 2));
  const change = from === null ? "added" : to === null ? "removed" : "changed";
  return { title, change, lines: shorten(wordsOf(diffLines(text(from), text(to)))) };
}

function referenceBlock(r: Schemas["PromptReferenceDiff"]): Block {
  const line = (kind: "add" | "del", version: number | null): Line[] =>
    version === null ? [] : [{ kind, parts: [{ text: `${r.written} is version ${version}`, changed: false }] }];
  const change = r.from === null ? "added" : r.to === null ? "removed" : "changed";
  return { title: `Included: ${r.written}`, change, lines: [...line("del", r.from), ...line("add", r.to)] };
}

/** Marks the words that differ, where removed lines are followed by as many added ones. */
function wordsOf(lines: readonly { kind: Line["kind"]; text: string }[]): Line[] {
  const out: Line[] = [];
  for (let i = 0; i < lines.length; ) {
    const removed = runOf(lines, i, "del");
    const added = runOf(lines, i + removed.length, "add");
    if (removed.length === 0 && added.length === 0) {
      out.push({ kind: "same", parts: [{ text: lines[i]?.text ?? "", changed: false }] });
      i++;
      continue;
    }
    const pairs = removed.map((text, n) => (n < added.length && removed.length === added.length ? diffWords(text, added[n] ?? "") : null));
    out.push(...removed.map((text, n): Line => ({ kind: "del", parts: pairs[n]?.before ?? [{ text, changed: false }] })));
    out.push(...added.map((text, n): Line => ({ kind: "add", parts: pairs[n]?.after ?? [{ text, changed: false }] })));
    i += removed.length + added.length;
  }
  return out;
}

function runOf(lines: readonly { kind: Line["kind"]; text: string }[], from: number, kind: Line["kind"]): string[] {
  const run: string[] = [];
  for (let i = from; lines[i]?.kind === kind; i++) run.push(lines[i]?.text ?? "");
  return run;
}

/** Leaves out equal lines that are far from a change. */
export function shorten(lines: readonly Line[]): (Line | number)[] {
  const near = new Set<number>();
  lines.forEach((line, i) => {
    if (line.kind === "same") return;
    for (let n = i - context; n <= i + context; n++) near.add(n);
  });
  const out: (Line | number)[] = [];
  lines.forEach((line, i) => {
    const last = out.at(-1);
    if (near.has(i)) out.push(line);
    else if (typeof last === "number") out[out.length - 1] = last + 1;
    else out.push(1);
  });
  // One line in the place of one line saves nothing.
  let at = 0;
  return out.map((one) => {
    const start = at;
    at += typeof one === "number" ? one : 1;
    return one === 1 ? (lines[start] ?? 1) : one;
  });
}

/** What differs, in words: `2 messages, 1 setting`; null for nothing. */
export function summaryOf(diff: PromptDiff): string | null {
  const messages = diff.messages.filter((m) => m.change !== "same");
  const said = [
    ...(messages.some((m) => m.role === "") ? ["the text"] : counted(messages.length, "message")),
    ...counted(diff.config.length, "setting"),
    ...counted(diff.input_schema.length, "part of the schema", "parts of the schema"),
    ...counted(diff.references.length, "included prompt"),
  ];
  return said.length === 0 ? null : said.join(", ");
}

function counted(n: number, one: string, many?: string): string[] {
  return n === 0 ? [] : [plural(n, one, many)];
}
