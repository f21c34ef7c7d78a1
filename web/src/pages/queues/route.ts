import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { allRoute, tenantRoute } from "@/routes";
import { oneOf, present } from "@/search";

export const lanes = ["realtime", "standard", "bulk"] as const;

export type LaneName = (typeof lanes)[number];

/** The lane whose tenants are shown is in the URL. */
function validateSearch(search: Record<string, unknown>) {
  return present({ lane: oneOf(search, "lane", lanes) });
}

export const queuesAllRoute = createRoute({
  getParentRoute: () => allRoute,
  path: "queues",
  validateSearch,
  component: lazyRouteComponent(() => import("./QueuesAllPage"), "QueuesAllPage"),
});

export const queuesRoute = createRoute({
  getParentRoute: () => tenantRoute,
  path: "queues",
  component: lazyRouteComponent(() => import("./QueuesPage"), "QueuesPage"),
});
