import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { readKey } from "@/api";
import { useLive } from "@/live";
import { countsOf, needTopics, useNeeds } from "@/needs/useNeeds";
import { useTenant } from "@/routes";
import { badgedPages, setBadge } from "./badges";

/** Keeps the counts of the sidebar: things that a person must act on in this tenant. It shows nothing itself. */
export function LiveBadges() {
  const tenant = useTenant();
  const needs = useNeeds(tenant);
  const queries = useQueryClient();
  useLive(tenant, needTopics, (event) => {
    // Pauses are read over all tenants, also on the pages of one.
    if (event.type === "control.changed") void queries.invalidateQueries({ queryKey: readKey(null, "/admin/v1/controls") });
  });
  useEffect(() => {
    const counts = countsOf(needs ?? []);
    for (const page of new Set([...badgedPages(), ...counts.keys()])) {
      const count = counts.get(page);
      setBadge(page, count && { text: count.text, hue: count.urgent ? "red" : "amber" });
    }
  }, [needs]);
  return null;
}
