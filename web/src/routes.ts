import type { QueryClient } from "@tanstack/react-query";
import { createRootRouteWithContext, createRoute, redirect, useParams } from "@tanstack/react-router";
import { asApiError } from "./api";
import { AppFrame } from "./frame/AppFrame";
import { PageError } from "./frame/PageError";
import { setPreference } from "./hooks/preferences";
import { NotFoundPage, NothingPage } from "./pages/not-found/NotFoundPage";
import { meQuery } from "./session";

export const rootRoute = createRootRouteWithContext<{ queries: QueryClient }>()({
  notFoundComponent: NothingPage,
  errorComponent: PageError,
});

/** Every page for a person who is signed in, inside the frame. */
export const frameRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: "frame",
  component: AppFrame,
  notFoundComponent: NotFoundPage,
  errorComponent: PageError,
  beforeLoad: async ({ context, location }) => {
    try {
      return { me: await context.queries.ensureQueryData(meQuery) };
    } catch (error) {
      if (asApiError(error).status !== 401) throw error;
      throw redirect({ to: "/sign-in", search: { return_to: location.href } });
    }
  },
});

/** The pages of one tenant: `/t/{tenant}/…`. */
export const tenantRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: "t/$tenant",
  notFoundComponent: NotFoundPage,
  errorComponent: PageError,
  beforeLoad: ({ params }) => setPreference("tenant", params.tenant),
});

/** The pages over all tenants: `/all/…`. */
export const allRoute = createRoute({
  getParentRoute: () => frameRoute,
  path: "all",
  notFoundComponent: NotFoundPage,
  errorComponent: PageError,
});

/** The tenant of the page; null on the pages over all tenants. */
export function useTenant(): string | null {
  return useParams({ strict: false }).tenant ?? null;
}

/** The tenant of a page that has one. */
export function useOneTenant(): string {
  const tenant = useTenant();
  if (tenant === null) throw new Error("This page needs a tenant in its path.");
  return tenant;
}
