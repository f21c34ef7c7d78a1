import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { validRange } from "@/frame/range";
import { tenantRoute } from "@/routes";
import { listIn, oneOf, present, textIn } from "@/search";
import { lanes, statuses } from "./values";

/** The state of the page: all of it is in the URL. */
function validateSearch(search: Record<string, unknown>) {
  return present({
    status: oneOf(search, "status", statuses),
    lane: oneOf(search, "lane", lanes),
    model: textIn(search, "model"),
    tag: textIn(search, "tag"),
    key: textIn(search, "key"),
    code: textIn(search, "code"),
    fingerprint: textIn(search, "fingerprint"),
    id: textIn(search, "id"),
    order: oneOf(search, "order", ["asc"] as const),
    range: search.range === undefined ? undefined : validRange(textIn(search, "range"), "all"),
    columns: listIn(search, "columns")?.join(","),
    peek: textIn(search, "peek"),
  });
}

export type JobsSearch = ReturnType<typeof validateSearch>;

export const jobsRoute = createRoute({
  getParentRoute: () => tenantRoute,
  path: "jobs",
  validateSearch,
  component: lazyRouteComponent(() => import("./JobsPage"), "JobsPage"),
});
