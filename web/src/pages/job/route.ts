import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { tenantRoute } from "@/routes";
import { oneOf, present, textIn } from "@/search";

export const jobTabs = ["output", "input", "items", "attempts", "events", "deliveries", "json"] as const;
export const itemStatuses = ["queued", "running", "succeeded", "failed", "cancelled", "expired"] as const;

export type JobTab = (typeof jobTabs)[number];

export const jobRoute = createRoute({
  getParentRoute: () => tenantRoute,
  path: "jobs/$job",
  validateSearch: (search: Record<string, unknown>) =>
    present({
      tab: oneOf(search, "tab", jobTabs),
      item: textIn(search, "item"),
      status: oneOf(search, "status", itemStatuses),
      custom_id: textIn(search, "custom_id"),
    }),
  component: lazyRouteComponent(() => import("./JobPage"), "JobPage"),
});

/** The address of an item alone: it opens the job of the item. */
export const itemRoute = createRoute({
  getParentRoute: () => tenantRoute,
  path: "items/$item",
  component: lazyRouteComponent(() => import("./ItemPage"), "ItemPage"),
});
