import { keepPreviousData, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { read, type Schemas } from "@/api";
import { daysOf } from "@/frame/days";
import { useNow } from "@/hooks/clock";
import { live } from "@/live/store";
import { useTenant } from "@/routes";
import { filterNames } from "./dimension";
import type { UsageSearch } from "./route";

export type Report = Schemas["Report"];
export type UsageQuery = Record<string, string>;

const readAgainMs = 30_000; // reports read the ledger, and money moves slowly

export function useUsageSearch(): UsageSearch {
  return useSearch({ strict: false }) as UsageSearch;
}

/** Range and filters, as the API takes them. Over all tenants, groups of different tenants are added up by the server. */
export function useScope(): UsageQuery {
  const tenant = useTenant();
  const search = useUsageSearch();
  const today = Math.floor(useNow() / 86_400_000);
  return useMemo(() => {
    const query: UsageQuery = { ...daysOf(search.range ?? "month", today * 86_400_000) };
    for (const name of filterNames) {
      const value = search[name];
      if (value !== undefined && (name !== "tenant" || tenant === null)) query[name] = value;
    }
    return tenant === null ? { ...query, merge_tenants: "true" } : query;
  }, [search, today, tenant]);
}

export const usagePath = (tenant: string | null) => (tenant === null ? "/admin/v1/usage" : "/v1/usage");

/** A report; the old one stays while a new one is read. */
export function useReport(query: UsageQuery): UseQueryResult<Report> {
  const tenant = useTenant();
  const options = { placeholderData: keepPreviousData, refetchInterval: () => (live.get().paused ? (false as const) : readAgainMs) };
  const own = useQuery({ ...read(tenant, "/v1/usage", { params: { query } }), ...options, enabled: tenant !== null });
  const all = useQuery({ ...read(null, "/admin/v1/usage", { params: { query } }), ...options, enabled: tenant === null });
  return (tenant === null ? all : own) as UseQueryResult<Report>;
}

/** The month of a tenant, or of all tenants; filters do not change it. */
export function useMonth() {
  const tenant = useTenant();
  const own = useQuery({ ...read(tenant, "/v1/usage/forecast"), enabled: tenant !== null });
  const all = useQuery({ ...read(null, "/admin/v1/usage/forecast"), enabled: tenant === null });
  return tenant === null ? all : own;
}
