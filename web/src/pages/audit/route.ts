import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { validRange } from "@/frame/range";
import { allRoute, tenantRoute } from "@/routes";
import { present, textIn } from "@/search";

function validateSearch(search: Record<string, unknown>) {
  return present({
    actor: textIn(search, "actor"),
    action: textIn(search, "action"),
    subject: textIn(search, "subject"),
    tenant: textIn(search, "tenant"),
    range: search.range === undefined ? undefined : validRange(textIn(search, "range"), "all"),
    row: textIn(search, "row"),
  });
}

export type AuditSearch = ReturnType<typeof validateSearch>;

const component = lazyRouteComponent(() => import("./AuditPage"), "AuditPage");

export const auditRoute = createRoute({ getParentRoute: () => tenantRoute, path: "audit", validateSearch, component });
export const auditAllRoute = createRoute({ getParentRoute: () => allRoute, path: "audit", validateSearch, component });
