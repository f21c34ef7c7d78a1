import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/routes";
import { present, textIn } from "@/search";

export const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "sign-in",
  validateSearch: (search: Record<string, unknown>) =>
    present({ return_to: textIn(search, "return_to"), error: textIn(search, "error"), request_id: textIn(search, "request_id") }),
  component: lazyRouteComponent(() => import("./SignInPage"), "SignInPage"),
});
