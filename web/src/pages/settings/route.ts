import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { allRoute } from "@/routes";
import { oneOf, present, textIn } from "@/search";

export const sections = ["preferences", "account", "configuration", "deprecations", "about"] as const;
export type SettingsSection = (typeof sections)[number];

export const settingsRoute = createRoute({
  getParentRoute: () => allRoute,
  path: "settings",
  validateSearch: (search: Record<string, unknown>) =>
    present({ section: oneOf(search, "section", sections), part: textIn(search, "part") }),
  component: lazyRouteComponent(() => import("./SettingsPage"), "SettingsPage"),
});
