import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { tenantRoute } from "@/routes";
import { listIn, oneOf, present, textIn } from "@/search";

export const itemStatuses = ["queued", "running", "succeeded", "failed", "cancelled", "expired"] as const;

export const batchesRoute = createRoute({
  getParentRoute: () => tenantRoute,
  path: "batches",
  validateSearch: (search: Record<string, unknown>) => present({ columns: listIn(search, "columns")?.join(",") }),
  component: lazyRouteComponent(() => import("./BatchesPage"), "BatchesPage"),
});

function validateDetail(search: Record<string, unknown>) {
  return present({ status: oneOf(search, "status", itemStatuses), custom_id: textIn(search, "custom_id"), job: textIn(search, "job") });
}

export type BatchSearch = ReturnType<typeof validateDetail>;

export const batchRoute = createRoute({
  getParentRoute: () => tenantRoute,
  path: "batches/$batch",
  validateSearch: validateDetail,
  component: lazyRouteComponent(() => import("./BatchPage"), "BatchPage"),
});
