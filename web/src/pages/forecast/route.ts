import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { allRoute } from "@/routes";
import { present, textIn } from "@/search";

export const forecastRoute = createRoute({
  getParentRoute: () => allRoute,
  path: "forecast",
  validateSearch: (search: Record<string, unknown>) => present({ scenario: textIn(search, "scenario") }),
  component: lazyRouteComponent(() => import("./ForecastPage"), "ForecastPage"),
});
