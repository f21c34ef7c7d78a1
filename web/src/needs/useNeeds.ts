import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { read } from "@/api";
import { formatCount } from "@/format";
import { useMinute } from "@/hooks/clock";
import { usePreferences } from "@/hooks/preferences";
import { live } from "@/live";
import { useMe } from "@/session";
import { budgetNeeds, controlNeeds, deadLetterNeed, deliveryNeed, inOrder, type Need, targetNeeds, webhookNeeds } from "./needs";

const quiet = { staleTime: 30_000, refetchInterval: () => (live.get().paused ? false : 60_000), retry: false } as const;

/** Whether the person may read routes over all tenants. */
export function useSeesAll(): boolean {
  return useMe().all_tenants_roles.length > 0;
}

/** The reads that needs come from. Pages that follow live events invalidate them by path. */
export const needTopics = {
  "dead_letters.changed": ["/v1/dead_letters"],
  "delivery.changed": ["/v1/webhooks", "/v1/deliveries"],
  "control.changed": ["/admin/v1/controls"],
  "target.changed": ["/admin/v1/targets"],
};

/** What a person must act on, in a tenant or over all tenants (null). Undefined while nothing is known. */
export function useNeeds(tenant: string | null): Need[] | undefined {
  const all = useSeesAll();
  const { zone } = usePreferences();
  const now = useMinute();
  const one = { ...quiet, enabled: tenant !== null };
  const groups = useQuery({ ...read(tenant, "/v1/dead_letters", { params: { query: { limit: 100 } } }), ...one });
  const webhooks = useQuery({ ...read(tenant, "/v1/webhooks", { params: { query: { limit: 100 } } }), ...one });
  const deliveries = useQuery({ ...read(tenant, "/v1/deliveries", { params: { query: { limit: 100, status: "failed" } } }), ...one });
  const budgets = useQuery({ ...read(tenant, "/v1/budgets"), ...one });
  const forecast = useQuery({ ...read(tenant, "/v1/usage/forecast"), ...one });
  const controls = useQuery({ ...read(null, "/admin/v1/controls"), ...quiet, enabled: all });
  const targets = useQuery({ ...read(null, "/admin/v1/targets"), ...quiet, enabled: all });

  return useMemo(() => {
    const reads = tenant === null ? [controls, targets] : [groups, webhooks, budgets];
    if (reads.every((r) => r.data === undefined)) return undefined;
    return inOrder([
      ...targetNeeds(targets.data?.data ?? []),
      ...(groups.data ? deadLetterNeed(groups.data) : []),
      ...budgetNeeds(budgets.data?.data ?? [], forecast.data, zone),
      ...webhookNeeds(webhooks.data?.data ?? [], now),
      ...(deliveries.data ? deliveryNeed(deliveries.data, now) : []),
      ...controlNeeds(ownControls(controls.data?.data ?? [], tenant), now),
    ]);
  }, [tenant, zone, now, groups, webhooks, deliveries, budgets, forecast, controls, targets]);
}

/** The controls that touch a tenant: not those of other tenants. */
function ownControls<C extends { kind: string; name: string }>(controls: readonly C[], tenant: string | null): C[] {
  return controls.filter((c) => tenant === null || c.kind !== "tenant" || c.name === tenant);
}

/** The count beside a page of the sidebar. */
export function countsOf(needs: readonly Need[]): Map<string, { text: string; urgent: boolean }> {
  const sums = new Map<string, { count: number; more: boolean; urgent: boolean }>();
  for (const n of needs) {
    const old = sums.get(n.page) ?? { count: 0, more: false, urgent: false };
    sums.set(n.page, { count: old.count + n.count, more: old.more || Boolean(n.atLeast), urgent: old.urgent || n.urgent });
  }
  return new Map([...sums].map(([page, s]) => [page, { text: `${formatCount(s.count)}${s.more ? "+" : ""}`, urgent: s.urgent }]));
}
