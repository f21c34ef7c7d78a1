import { createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { tenantRoute } from "@/routes";
import { oneOf, present, textIn } from "@/search";

export const deliveryStatuses = ["pending", "delivered", "failed"] as const;
export const views = ["endpoints", "jobs"] as const;

/** The state of the page: all of it is in the URL. */
function validateSearch(search: Record<string, unknown>) {
  return present({
    view: oneOf(search, "view", views),
    status: oneOf(search, "status", deliveryStatuses),
    /** The delivery in the pane. */
    delivery: textIn(search, "delivery"),
  });
}

export type WebhooksSearch = ReturnType<typeof validateSearch>;

export const webhooksRoute = createRoute({
  getParentRoute: () => tenantRoute,
  path: "webhooks",
  validateSearch,
  component: lazyRouteComponent(() => import("./WebhooksPage"), "WebhooksPage"),
});

export const webhookRoute = createRoute({
  getParentRoute: () => tenantRoute,
  path: "webhooks/$webhook",
  validateSearch,
  component: lazyRouteComponent(() => import("./WebhookPage"), "WebhookPage"),
});

/** The address of a delivery by its id alone, as the palette knows it. */
export const deliveryRoute = createRoute({
  getParentRoute: () => tenantRoute,
  path: "deliveries/$delivery",
  beforeLoad: ({ params }) => {
    throw redirect({ to: "/t/$tenant/webhooks", params: { tenant: params.tenant }, search: { delivery: params.delivery } });
  },
});
