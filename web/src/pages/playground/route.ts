import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { tenantRoute } from "@/routes";
import { oneOf, present, textIn } from "@/search";

/** The address names a run, or a prompt to begin with; never a text. */
function validate(search: Record<string, unknown>) {
  const version = textIn(search, "version") ?? (typeof search.version === "number" ? String(search.version) : undefined);
  return present({
    /** The run that shows. */
    run: textIn(search, "run"),
    /** A saved prompt to begin with, by version, by label or its draft. */
    prompt: textIn(search, "prompt"),
    version: version && /^[1-9]\d{0,8}$/.test(version) ? version : undefined,
    label: textIn(search, "label"),
    draft: oneOf(search, "draft", ["yes"]),
    pane: oneOf(search, "pane", ["history"]),
    marks: oneOf(search, "marks", ["differences"]),
  });
}

export type PlaygroundSearch = ReturnType<typeof validate>;

export const playgroundRoute = createRoute({
  getParentRoute: () => tenantRoute,
  path: "playground",
  validateSearch: validate,
  component: lazyRouteComponent(() => import("./PlaygroundPage"), "PlaygroundPage"),
});

/** A run that somebody shared. */
export const sharedRunRoute = createRoute({
  getParentRoute: () => tenantRoute,
  path: "playground/shared/$id",
  component: lazyRouteComponent(() => import("./share/SharedPage"), "SharedPage"),
});
