import { api, dataOf } from "@/api";
import type { AuditEntry } from "./entry";

/** An export pages through the list of the server up to this bound. */
export const exportBound = 10_000;
const pageSize = 100;

/** The filters of the list, as the API takes them. */
export type AuditQuery = Record<string, string | number> & { tenant: string };

/** Reads entries, the newest first, until there are no more or the bound is reached. */
export async function readEntries(
  query: AuditQuery,
  onProgress: (count: number) => void,
  signal: AbortSignal,
): Promise<{ entries: AuditEntry[]; complete: boolean }> {
  const entries: AuditEntry[] = [];
  let after = "";
  for (;;) {
    const page = await dataOf(
      api(null).GET("/admin/v1/audit", { params: { query: { ...query, limit: pageSize, ...(after ? { after } : {}) } }, signal }),
    );
    entries.push(...page.data);
    onProgress(entries.length);
    after = page.data.at(-1)?.id ?? "";
    if (!page.has_more || after === "") return { entries, complete: true };
    if (entries.length >= exportBound) return { entries, complete: false };
  }
}

export function jsonlOf(entries: readonly AuditEntry[]): string {
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
}

const columns = ["id", "created_at", "tenant", "actor", "action", "subject", "before", "after"] as const;

export function csvOf(entries: readonly AuditEntry[]): string {
  const lines = entries.map((entry) => columns.map((name) => cell(entry[name])).join(","));
  return `${[columns.join(","), ...lines].join("\r\n")}\r\n`;
}

/** A cell of CSV. A text that a spreadsheet would take for a formula gets an apostrophe. */
function cell(value: unknown): string {
  const text = value == null ? "" : typeof value === "string" ? value : JSON.stringify(value);
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Gives a file to the browser. */
export function saveFile(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
