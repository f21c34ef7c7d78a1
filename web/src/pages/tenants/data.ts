import { keepPreviousData, type QueryClient, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, dataOf, read, readKey, type Schemas } from "@/api";

export type Tenant = Schemas["Tenant"];
export type TenantFields = Schemas["TenantFields"];
export type Key = Schemas["Key"];
export type Balance = Schemas["Balance"];

const slowly = { staleTime: 30_000 }; // the tables of tenants ask once for each row in sight

/** Everything that a change of tenants or keys makes old. */
export function tenantsChanged(queries: QueryClient): void {
  for (const path of ["/admin/v1/tenants", "/admin/v1/tenants/{tenant}", "/admin/v1/keys", "/admin/v1/budgets", "/v1/me"]) {
    void queries.invalidateQueries({ queryKey: readKey(null, path) });
  }
}

export function useOneTenantRecord(id: string) {
  return useQuery(read(null, "/admin/v1/tenants/{tenant}", { params: { path: { tenant: id } } }));
}

/** The keys of a tenant, those of the configuration file first: 1,000 at the most. */
export function useKeys(tenant: string) {
  return useQuery({
    ...read(null, "/admin/v1/keys", { params: { query: { tenant, limit: 1000 } } }),
    ...slowly,
    placeholderData: keepPreviousData,
  });
}

/** The budgets of a tenant with the amounts left. A disabled tenant has none. */
export function useBalances(tenant: Pick<Tenant, "id" | "enabled">) {
  return useQuery({
    ...read(null, "/admin/v1/budgets", { params: { query: { tenant: tenant.id } } }),
    ...slowly,
    enabled: tenant.enabled,
    placeholderData: keepPreviousData,
  });
}

/** Keys that are accepted now. */
export function activeKeys(keys: readonly Key[]): Key[] {
  return keys.filter((k) => k.status === "active" || k.status === "rotated");
}

/** Changes a tenant, if nobody changed it since the ETag was read. */
export function useTenantChange(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ etag, body }: { etag?: string; body: TenantFields }) =>
      dataOf(
        api(null).PATCH("/admin/v1/tenants/{tenant}", {
          params: { path: { tenant: id }, ...(etag ? { header: { "If-Match": etag } } : {}) },
          body,
        }),
      ),
    onSuccess: () => tenantsChanged(queries),
  });
}

/** The budget of the whole tenant that is closest to its end. */
export function tightest(balances: readonly Balance[]): Balance | undefined {
  const own = balances.filter((b) => b.key === null && b.model === null && b.tag === null);
  const share = (b: Balance) => Number(b.left_usd) / Math.max(Number(b.limit_usd), 1e-9); // for the order only
  return own.toSorted((a, b) => share(a) - share(b))[0];
}
