import type { Schemas } from "@/api";
import { boundsOf } from "@/frame/range";
import type { Filter } from "./replay";
import type { DeadLettersSearch } from "./route";

/** The filters of the URL as the API names them. */
export type Query = Omit<Filter, "all" | "item_ids">;

export function queryOf(search: DeadLettersSearch, now: number): Query {
  const { from, to } = boundsOf(search.range ?? "all", now);
  return {
    ...(search.code ? { code: search.code as Schemas["Code"] } : {}),
    ...(search.kind ? { error_kind: search.kind } : {}),
    ...(search.model ? { model: search.model } : {}),
    ...(search.job ? { job_id: search.job } : {}),
    ...(from ? { created_after: from } : {}),
    ...(to ? { created_before: to } : {}),
  };
}

/** The filter of an act on all that the list shows. The server refuses an empty filter, so that nobody acts on everything by mistake. */
export function filterOf(query: Query): Filter {
  return Object.keys(query).length > 0 ? query : { all: true };
}
