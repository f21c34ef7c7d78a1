import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { read } from "@/api";
import type { FilterField } from "@/components/FilterBar";
import { stateWord } from "@/components/StateGlyph";
import { boundsOf } from "@/frame/range";
import { useNow } from "@/hooks/clock";
import type { RequestRow } from "./columns";
import { filterNames, type RequestsSearch, statuses } from "./route";

/** The query of the API for the filters of the URL. The start of a range moves by the minute. */
export function useListQuery(search: RequestsSearch): Record<string, string | number> {
  const minute = Math.floor(useNow() / 60_000);
  const { range } = search;
  const start = range ? minute : 0; // without a range the query stays the same
  const filters = JSON.stringify(filterNames.map((name) => search[name] ?? null));
  return useMemo(() => {
    const query: Record<string, string | number> = { limit: 100 };
    const values = JSON.parse(filters) as (string | null)[];
    for (const [i, name] of filterNames.entries()) if (values[i]) query[name] = values[i];
    const { from, to } = boundsOf(range ?? "all", start * 60_000);
    if (from) query.created_after = from;
    if (to) query.created_before = to;
    return query;
  }, [filters, range, start]);
}

export function isFiltered(search: RequestsSearch): boolean {
  return filterNames.some((name) => search[name] !== undefined) || search.range !== undefined;
}

/** The fields of the filter bar, with the names of models and targets, and the keys of the loaded rows, as suggestions. */
export function useFields(tenant: string, rows: readonly RequestRow[]): FilterField[] {
  const models = useQuery({ ...read(tenant, "/v1/models"), staleTime: 60_000 });
  const names = (models.data as { data?: { id: string }[] } | undefined)?.data;
  return useMemo(() => {
    const seen = (of: (r: RequestRow) => string | null) => [...new Set(rows.flatMap((r) => of(r) || []))].sort();
    return [
      { name: "status", label: "Status", values: statuses, word: (v) => stateWord(v as (typeof statuses)[number]) },
      { name: "model", label: "Model", known: names?.map((m) => m.id), example: "fast" },
      { name: "target", label: "Target", known: seen((r) => r.target), example: "openai-main" },
      { name: "key", label: "Key", known: seen((r) => r.key), example: "web-prod" },
      { name: "tag", label: "Tag", known: tagsIn(rows), example: "env:prod" },
      { name: "subject", label: "Subject", known: seen((r) => r.subject), example: "user-4471" },
      { name: "code", label: "Error", known: seen((r) => r.error?.code ?? null), example: "upstream_timeout" },
      { name: "min_cost", label: "Cost", example: "0.05 dollars or more", word: (v) => `at least $${v}` },
    ];
  }, [names, rows]);
}

function tagsIn(rows: readonly RequestRow[]): string[] {
  const tags = new Set(rows.flatMap((r) => Object.entries(r.tags).map(([name, value]) => `${name}:${value}`)));
  return [...tags].sort().slice(0, 50);
}
