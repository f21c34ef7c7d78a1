import { createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { preferences } from "@/hooks/preferences";
import { allRoute, frameRoute, tenantRoute } from "@/routes";
import { oneOf, present } from "@/search";

const component = lazyRouteComponent(() => import("./HomePage"), "HomePage");

export const windows = ["hour", "day"] as const;

const validateSearch = (search: Record<string, unknown>) => present({ window: oneOf(search, "window", windows) });

/** `/` opens the tenant last chosen; without one, all tenants or the first. */
export const startRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: "/",
  beforeLoad: ({ context: { me } }) => {
    const last = preferences.get().tenant;
    const known = me.tenants.find((t) => t.id === last);
    if (known) throw redirect({ to: "/t/$tenant", params: { tenant: known.id } });
    if (me.all_tenants_roles.length > 0) throw redirect({ to: "/all" });
    const first = me.tenants[0];
    if (first) throw redirect({ to: "/t/$tenant", params: { tenant: first.id } });
  },
});

export const homeRoute = createRoute({ getParentRoute: () => tenantRoute, path: "/", validateSearch, component });

export const homeAllRoute = createRoute({ getParentRoute: () => allRoute, path: "/", validateSearch, component });
