import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { allRoute, tenantRoute } from "@/routes";
import { oneOf, present, textIn } from "@/search";

export const memberTabs = ["members", "sessions", "roles"] as const;
export type MemberTab = (typeof memberTabs)[number];

export const membersAllRoute = createRoute({
  getParentRoute: () => allRoute,
  path: "members",
  validateSearch: (search: Record<string, unknown>) =>
    present({ tab: oneOf(search, "tab", memberTabs), tenant: textIn(search, "tenant"), person: textIn(search, "person") }),
  component: lazyRouteComponent(() => import("./MembersPage"), "MembersPage"),
});

export const membersRoute = createRoute({
  getParentRoute: () => tenantRoute,
  path: "members",
  component: lazyRouteComponent(() => import("./TenantMembersPage"), "TenantMembersPage"),
});
