import { type QueryClient, queryOptions, useSuspenseQuery } from "@tanstack/react-query";
import { basePath } from "./api";
import { callHeaders, setCsrf } from "./api/client";
import { ApiError, errorOf } from "./api/error";
import type { Me, SignInOptions } from "./api/pending";

export type { Me, SignInOptions } from "./api/pending";

async function call(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(basePath + path, {
      credentials: "same-origin",
      ...init,
      headers: { ...callHeaders(null, init.method ?? "GET"), ...(init.headers as Record<string, string> | undefined) },
    });
  } catch {
    throw new ApiError(0, { message: "The server cannot be reached. Check that Penstock runs and that this machine is online." }, null);
  }
  if (!response.ok) throw await errorOf(response);
  return response;
}

/** The person who is signed in. Rejects with status 401 where nobody is. */
export const meQuery = queryOptions({
  queryKey: ["", "/v1/me"],
  queryFn: async (): Promise<Me> => {
    const me = (await (await call("/v1/me")).json()) as Me;
    setCsrf(me.csrf);
    return me;
  },
  staleTime: 60_000,
});

/** The ways of sign-in that the server offers. */
export const optionsQuery = queryOptions({
  queryKey: ["", "/auth/options"],
  queryFn: async (): Promise<SignInOptions> => (await (await call("/auth/options")).json()) as SignInOptions,
});

export function useMe(): Me {
  return useSuspenseQuery(meQuery).data;
}

/** The roles of the person in a tenant, those for all tenants included. */
export function rolesIn(me: Me, tenant: string | null): Set<string> {
  const own = tenant === null ? [] : (me.tenants.find((t) => t.id === tenant)?.roles ?? []);
  return new Set([...me.all_tenants_roles, ...own]);
}

/** Whether the person has one of the roles in a tenant (null: for all tenants). An admin has every role. */
export function useRole(tenant: string | null, ...roles: string[]): boolean {
  const has = rolesIn(useMe(), tenant);
  return has.has("admin") || roles.some((role) => has.has(role));
}

const post = (path: string, body: unknown) =>
  call(path, { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } });

export async function signInWithKey(key: string): Promise<void> {
  await post("/auth/key", { key });
}

export async function signInWithLink(token: string): Promise<void> {
  await post("/auth/link", { token });
}

export function loginURL(issuer: string, returnTo: string): string {
  return `${basePath}/auth/login?${new URLSearchParams({ issuer, return_to: returnTo })}`;
}

export async function signOut(client: QueryClient): Promise<void> {
  await post("/auth/logout", {});
  client.clear();
}
