import { type QueryClient, queryOptions, useSuspenseQuery } from "@tanstack/react-query";
import { api, basePath, dataOf, read, type Schemas } from "./api";
import { setCsrf } from "./api/client";

export type Me = Schemas["Me"];
export type Role = Schemas["Role"];

/** The person who is signed in. Rejects with status 401 where nobody is. */
export const meQuery = queryOptions({
  queryKey: ["", "/v1/me"],
  queryFn: async ({ signal }): Promise<Me> => {
    const me = await dataOf(api(null).GET("/v1/me", { signal }));
    setCsrf(me.csrf ?? "");
    return me;
  },
  staleTime: 60_000,
});

/** The ways of sign-in that the server offers. */
export const optionsQuery = read(null, "/auth/options");

export function useMe(): Me {
  return useSuspenseQuery(meQuery).data;
}

/** The roles of the person in a tenant, those for all tenants included. */
export function rolesIn(me: Me, tenant: string | null): Set<Role> {
  const own = tenant === null ? [] : (me.tenants.find((t) => t.id === tenant)?.roles ?? []);
  return new Set([...me.all_tenants_roles, ...own]);
}

/** Whether the person has one of the roles in a tenant (null: for all tenants). An admin has every role. */
export function useRole(tenant: string | null, ...roles: Role[]): boolean {
  const has = rolesIn(useMe(), tenant);
  return has.has("admin") || roles.some((role) => has.has(role));
}

export function signInWithKey(key: string) {
  return api(null).POST("/auth/key", { body: { key } });
}

export function signInWithLink(token: string) {
  return api(null).POST("/auth/link", { body: { token } });
}

export function loginURL(issuer: string, returnTo: string): string {
  return `${basePath}/auth/login?${new URLSearchParams({ issuer, return_to: basePath + returnTo })}`;
}

/** Forgets what pages keep in the tab, such as an unsaved setup: the next person must not find it. */
function forgetTab(): void {
  try {
    sessionStorage.clear();
  } catch {
    // Storage is off, so nothing is kept.
  }
}

/** Ends the session. Returns the address where the browser ends its session at the identity provider, if there is one. */
export async function signOut(client: QueryClient): Promise<string | null> {
  const { next_url } = await dataOf(api(null).POST("/auth/logout"));
  client.clear();
  forgetTab();
  return next_url ?? null;
}
