import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { validRange } from "@/frame/range";
import { tenantRoute } from "@/routes";
import { present, textIn } from "@/search";

/** The state of the page: all of it is in the URL. */
function validateSearch(search: Record<string, unknown>) {
  return present({
    code: textIn(search, "code"),
    kind: textIn(search, "kind"),
    model: textIn(search, "model"),
    job: textIn(search, "job"),
    range: search.range === undefined ? undefined : validRange(textIn(search, "range"), "all"),
    /** The fingerprint of the group in the pane. */
    group: textIn(search, "group"),
    /** The item of the group that the pane shows. */
    item: textIn(search, "item"),
  });
}

export type DeadLettersSearch = ReturnType<typeof validateSearch>;

export const deadLettersRoute = createRoute({
  getParentRoute: () => tenantRoute,
  path: "dead-letters",
  validateSearch,
  component: lazyRouteComponent(() => import("./DeadLettersPage"), "DeadLettersPage"),
});
