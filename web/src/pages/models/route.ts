import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { allRoute, tenantRoute } from "@/routes";
import { listIn, oneOf, present, textIn } from "@/search";
import { endpoints, needs } from "./explain";

export const modes = ["chat", "responses", "completion", "embedding", "rerank", "moderation"] as const;

/** The filters of the catalogue. */
function catalogueIn(search: Record<string, unknown>) {
  return { vendor: textIn(search, "vendor"), mode: oneOf(search, "mode", modes), search: textIn(search, "search") };
}

function validateModels(search: Record<string, unknown>) {
  return present({
    tab: oneOf(search, "tab", ["catalogue"] as const),
    columns: listIn(search, "columns")?.join(","),
    ...catalogueIn(search),
  });
}

export type ModelsSearch = ReturnType<typeof validateModels>;
export type ModelsChange = { [K in keyof ModelsSearch]?: ModelsSearch[K] | undefined };

/** The call to explain. Its text stays on the page: URLs hold no prompts. */
function validateModel(search: Record<string, unknown>) {
  const number = (name: string) => (/^\d{1,7}$/.test(textIn(search, name) ?? "") ? textIn(search, name) : undefined);
  return present({
    endpoint: oneOf(search, "endpoint", endpoints),
    needs: textIn(search, "needs")
      ?.split(",")
      .filter((n) => needs.some((known) => known === n))
      .join(","),
    tokens: number("tokens"),
    max: number("max"),
  });
}

export type ModelSearch = ReturnType<typeof validateModel>;

export const modelsRoute = createRoute({
  getParentRoute: () => tenantRoute,
  path: "models",
  validateSearch: validateModels,
  component: lazyRouteComponent(() => import("./ModelsPage"), "ModelsPage"),
});

export const modelRoute = createRoute({
  getParentRoute: () => tenantRoute,
  path: "models/$model",
  validateSearch: validateModel,
  component: lazyRouteComponent(() => import("./ModelPage"), "ModelPage"),
});

export const modelsAllRoute = createRoute({
  getParentRoute: () => allRoute,
  path: "models",
  validateSearch: validateModels,
  component: lazyRouteComponent(() => import("./ModelsAllPage"), "ModelsAllPage"),
});
