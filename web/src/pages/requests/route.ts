import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { validRange } from "@/frame/range";
import { tenantRoute } from "@/routes";
import { listIn, oneOf, present, textIn } from "@/search";

export const statuses = ["succeeded", "failed", "cancelled"] as const;
export const filterNames = ["status", "model", "target", "key", "code", "tag", "subject", "min_cost"] as const;

/** The state of the list: all of it is in the URL. */
function validateSearch(search: Record<string, unknown>) {
  return present({
    status: oneOf(search, "status", statuses),
    model: textIn(search, "model"),
    target: textIn(search, "target"),
    key: textIn(search, "key"),
    code: textIn(search, "code"),
    tag: textIn(search, "tag"),
    subject: textIn(search, "subject"),
    min_cost: textIn(search, "min_cost"),
    range: search.range === undefined ? undefined : validRange(textIn(search, "range"), "all"),
    columns: listIn(search, "columns")?.join(","),
    row: textIn(search, "row"),
  });
}

export type RequestsSearch = ReturnType<typeof validateSearch>;

export const requestsRoute = createRoute({
  getParentRoute: () => tenantRoute,
  path: "requests",
  validateSearch,
  component: lazyRouteComponent(() => import("./RequestsPage"), "RequestsPage"),
});

export const requestRoute = createRoute({
  getParentRoute: () => tenantRoute,
  path: "requests/$id",
  component: lazyRouteComponent(() => import("./RequestPage"), "RequestPage"),
});
