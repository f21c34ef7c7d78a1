import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { validDays } from "@/frame/days";
import { allRoute, tenantRoute } from "@/routes";
import { listIn, oneOf, present, textIn } from "@/search";
import { isDimension } from "./dimension";

export const lanes = ["realtime", "standard", "bulk"] as const;
export const measures = ["cost", "requests", "input", "output"] as const;
export type Measure = (typeof measures)[number];

/** The state of the page: all of it is in the URL. */
function validateSearch(search: Record<string, unknown>) {
  const chart = textIn(search, "chart");
  return present({
    range: validDays(textIn(search, "range")),
    by: listIn(search, "by")?.filter(isDimension).join(",") || undefined,
    chart: chart && isDimension(chart) ? chart : undefined,
    measure: oneOf(search, "measure", measures),
    tenant: textIn(search, "tenant"),
    model: textIn(search, "model"),
    key: textIn(search, "key"),
    lane: oneOf(search, "lane", lanes),
    tag: textIn(search, "tag"),
  });
}

export type UsageSearch = ReturnType<typeof validateSearch>;

const component = lazyRouteComponent(() => import("./UsagePage"), "UsagePage");

export const usageRoute = createRoute({ getParentRoute: () => tenantRoute, path: "usage", validateSearch, component });
export const usageAllRoute = createRoute({ getParentRoute: () => allRoute, path: "usage", validateSearch, component });
