import type { JobsSearch } from "./route";

/** A named set of filters, range and columns. */
export interface View {
  name: string;
  search: JobsSearch;
}

/** Views that everybody has. */
export const commonViews: readonly View[] = [
  { name: "Failed in the last 24 hours", search: { status: "failed", range: "24h" } },
  { name: "Running now", search: { status: "running" } },
  { name: "Queued, oldest first", search: { status: "queued", order: "asc" } },
  { name: "Bulk lane, last 7 days", search: { lane: "bulk", range: "7d" } },
];

const key = "penstock.views.jobs";

/** The views of this person in this browser. */
export function loadViews(): View[] {
  try {
    const views: unknown = JSON.parse(localStorage.getItem(key) ?? "[]");
    return Array.isArray(views) ? views.filter((v): v is View => typeof v?.name === "string" && typeof v?.search === "object") : [];
  } catch {
    return []; // storage may be off
  }
}

/** Keeps the views; false where the browser does not store. */
export function storeViews(views: readonly View[]): boolean {
  try {
    localStorage.setItem(key, JSON.stringify(views));
    return true;
  } catch {
    return false;
  }
}

/** The part of the URL that a view keeps: everything but the row that a person looks at. */
export function viewOf({ peek: _, ...search }: JobsSearch): JobsSearch {
  return search;
}
