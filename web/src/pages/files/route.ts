import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { tenantRoute } from "@/routes";
import { oneOf, present } from "@/search";

export const purposes = ["batch", "batch_output", "user_data", "vision"] as const;

export const filesRoute = createRoute({
  getParentRoute: () => tenantRoute,
  path: "files",
  validateSearch: (search: Record<string, unknown>) => present({ purpose: oneOf(search, "purpose", purposes) }),
  component: lazyRouteComponent(() => import("./FilesPage"), "FilesPage"),
});

/** The pane of one file. The list stays as it is, so the page shows the pane itself. */
export const fileRoute = createRoute({ getParentRoute: () => filesRoute, path: "$id" });
