import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/routes";
import { oneOf, present, textIn } from "@/search";

export const languages = ["curl", "python", "typescript"] as const;

/** The API reference. It needs no session; with one, its calls can be tried. */
export const docsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "docs",
  validateSearch: (search: Record<string, unknown>) =>
    present({
      op: textIn(search, "op"),
      version: textIn(search, "version"),
      lang: oneOf(search, "lang", languages),
      tenant: textIn(search, "tenant"),
    }),
  component: lazyRouteComponent(() => import("./DocsPage"), "DocsPage"),
});
