import type { QueryClient } from "@tanstack/react-query";
import { createRouter } from "@tanstack/react-router";
import { basePath } from "./api";
import { auditAllRoute, auditRoute } from "./pages/audit/route";
import { batchesRoute, batchRoute } from "./pages/batches/route";
import { deadLettersRoute } from "./pages/dead-letters/route";
import { docsRoute } from "./pages/docs/route";
import { fileRoute, filesRoute } from "./pages/files/route";
import { forecastRoute } from "./pages/forecast/route";
import { homeAllRoute, homeRoute, startRoute } from "./pages/home/route";
import { itemRoute, jobRoute } from "./pages/job/route";
import { jobsRoute } from "./pages/jobs/route";
import { membersAllRoute, membersRoute } from "./pages/members/route";
import { modelRoute, modelsAllRoute, modelsRoute } from "./pages/models/route";
import { playgroundRoute, sharedRunRoute } from "./pages/playground/route";
import { promptListRoute, promptRoute, promptsRoute } from "./pages/prompts/route";
import { queuesAllRoute, queuesRoute } from "./pages/queues/route";
import { requestRoute, requestsRoute } from "./pages/requests/route";
import { settingsRoute } from "./pages/settings/route";
import { signInRoute } from "./pages/sign-in/route";
import { tenantDetailRoute, tenantKeysRoute, tenantsRoute } from "./pages/tenants/route";
import { usageAllRoute, usageRoute } from "./pages/usage/route";
import { deliveryRoute, webhookRoute, webhooksRoute } from "./pages/webhooks/route";
import { allRoute, frameRoute, rootRoute, tenantRoute } from "./routes";
import { parseSearch, stringifySearch } from "./search";

// A new page adds its routes here, and its entry in frame/navigation.ts.
const routeTree = rootRoute.addChildren([
  signInRoute,
  docsRoute,
  frameRoute.addChildren([
    startRoute,
    tenantRoute.addChildren([
      homeRoute,
      jobsRoute,
      jobRoute,
      itemRoute,
      batchesRoute,
      batchRoute,
      requestsRoute,
      requestRoute,
      filesRoute.addChildren([fileRoute]),
      queuesRoute,
      deadLettersRoute,
      webhooksRoute,
      webhookRoute,
      deliveryRoute,
      promptsRoute.addChildren([promptListRoute, promptRoute]),
      playgroundRoute,
      sharedRunRoute,
      modelsRoute,
      modelRoute,
      auditRoute,
      tenantKeysRoute,
      membersRoute,
      usageRoute,
    ]),
    allRoute.addChildren([
      homeAllRoute,
      queuesAllRoute,
      modelsAllRoute,
      tenantsRoute,
      tenantDetailRoute,
      membersAllRoute,
      auditAllRoute,
      settingsRoute,
      usageAllRoute,
      forecastRoute,
    ]),
  ]),
]);

export function newRouter(queries: QueryClient) {
  return createRouter({
    routeTree,
    basepath: basePath || "/",
    context: { queries },
    parseSearch,
    stringifySearch,
    defaultPreload: "intent",
    scrollRestoration: true,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof newRouter>;
  }
}
