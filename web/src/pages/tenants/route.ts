import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { allRoute, tenantRoute } from "@/routes";
import { oneOf, present, textIn } from "@/search";

export const tenantTabs = ["overview", "keys", "limits", "budgets", "members"] as const;
export type TenantTab = (typeof tenantTabs)[number];

const tabSearch = (search: Record<string, unknown>) =>
  present({ tab: oneOf(search, "tab", tenantTabs), keys: oneOf(search, "keys", ["all"] as const) });

export const tenantsRoute = createRoute({
  getParentRoute: () => allRoute,
  path: "tenants",
  validateSearch: (search: Record<string, unknown>) => present({ tier: textIn(search, "tier") }),
  component: lazyRouteComponent(() => import("./TenantsPage"), "TenantsPage"),
});

export const tenantDetailRoute = createRoute({
  getParentRoute: () => allRoute,
  path: "tenants/$id",
  validateSearch: tabSearch,
  component: lazyRouteComponent(() => import("./TenantPage"), "TenantPage"),
});

/** The same page in the frame of the tenant; it opens at the keys. */
export const tenantKeysRoute = createRoute({
  getParentRoute: () => tenantRoute,
  path: "keys",
  validateSearch: tabSearch,
  component: lazyRouteComponent(() => import("./TenantPage"), "TenantKeysPage"),
});
