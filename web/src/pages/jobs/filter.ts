import type { FilterField } from "@/components/FilterBar";
import { boundsOf } from "@/frame/range";
import type { JobsSearch } from "./route";
import { lanes } from "./values";

/** The error codes of items; see docs/reference/errors.md. */
export const errorCodes = [
  "upstream_error",
  "upstream_timeout",
  "upstream_rejected",
  "content_blocked",
  "context_too_long",
  "rate_limited",
  "overloaded",
  "no_target_available",
  "budget_exceeded",
  "deadline_exceeded",
  "invalid_request",
  "model_not_found",
  "poison",
  "internal",
] as const;

/** The fields of the filter. The models are those that the tenant may use. */
export function jobFields(models: readonly string[]): readonly FilterField[] {
  return [
    { name: "lane", label: "Lane", values: lanes },
    { name: "model", label: "Model", ...(models.length > 0 ? { values: models } : { example: "fast" }) },
    { name: "tag", label: "Tag", example: "env:prod" },
    { name: "code", label: "Error code", values: errorCodes },
    { name: "key", label: "Key", example: "the name of a key" },
    { name: "fingerprint", label: "Fingerprint", example: "of a dead letter" },
    { name: "id", label: "Job id", example: "job_01JQ…, or its start" },
  ];
}

const filters = ["status", "lane", "model", "tag", "key", "code", "fingerprint", "id", "range"] as const;

export function isFiltered(search: JobsSearch): boolean {
  return filters.some((name) => search[name] !== undefined);
}

/** The filters that text without the name of a field sets; null where it means nothing. */
export function meaningOf(text: string): Partial<JobsSearch> | null {
  if (/^job_[0-9A-Za-z]*$/.test(text) || /^[0-9A-HJKMNP-TV-Z]{6,26}$/i.test(text)) return { id: text };
  if (/^[a-z_]+\/[^/]*\/[^/]*\/[^/]*\/[0-9a-f]+$/.test(text)) return { fingerprint: text };
  const tag = /^([^:=]+)[:=](.*)$/.exec(text);
  if (tag?.[1]) return { tag: `${tag[1].trim()}:${tag[2]?.trim()}` };
  return null;
}

export type JobsQuery = Record<string, string | number>;

/** The parameters that lists and summaries share: without the status, because a summary counts all of them. */
export function sharedQuery(search: JobsSearch, now: number): JobsQuery {
  const query: JobsQuery = {};
  for (const name of ["lane", "model", "tag", "key"] as const) if (search[name]) query[name] = search[name];
  const { from, to } = boundsOf(search.range ?? "all", now);
  if (from) query.created_after = from;
  if (to) query.created_before = to;
  return query;
}

/** The parameters of the list. */
export function listQuery(search: JobsSearch, now: number): JobsQuery {
  const query: JobsQuery = { ...sharedQuery(search, now), limit: 100 };
  for (const name of ["status", "code", "fingerprint"] as const) if (search[name]) query[name] = search[name];
  if (search.id) query.id_prefix = search.id;
  if (search.order && canTurn(search)) query.order = search.order;
  return query;
}

/** Whether the server can list these jobs oldest first. */
export function canTurn(search: JobsSearch): boolean {
  return !search.code && !search.fingerprint;
}

/** Whether a summary can count these jobs: it knows no errors and no ids. */
export function canCount(search: JobsSearch): boolean {
  return canTurn(search) && !search.id;
}
