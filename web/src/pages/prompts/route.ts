import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { tenantRoute } from "@/routes";
import { oneOf, present, textIn } from "@/search";
import { sideIn, versionIn } from "./prompt";

export const promptsViews = ["prompts", "protections"] as const;
export const promptTabs = ["versions", "draft"] as const;

function validateList(search: Record<string, unknown>) {
  return present({
    view: oneOf(search, "view", promptsViews),
    /** The folder, with a slash at its end; absent: the top. */
    folder: textIn(search, "folder"),
    /** The beginning of names inside the folder. */
    begins: textIn(search, "begins"),
    archived: oneOf(search, "archived", ["yes"]),
  });
}

function validateOne(search: Record<string, unknown>) {
  return present({
    tab: oneOf(search, "tab", promptTabs),
    /** The version whose content shows; absent: the newest. */
    version: versionIn(search, "version"),
    /** The compared sides: versions, labels or the draft. Without both, the content shows. */
    from: sideIn(search, "from"),
    to: sideIn(search, "to"),
  });
}

export type PromptsSearch = ReturnType<typeof validateList>;
export type PromptSearch = ReturnType<typeof validateOne>;

/** The parent of both pages: of its children, the list is the index. Beside each other, the rest of the path would also match the list. */
export const promptsRoute = createRoute({ getParentRoute: () => tenantRoute, path: "prompts" });

export const promptListRoute = createRoute({
  getParentRoute: () => promptsRoute,
  path: "/",
  validateSearch: validateList,
  component: lazyRouteComponent(() => import("./PromptsPage"), "PromptsPage"),
});

/** A prompt. Its name has slashes, so it is the rest of the path. */
export const promptRoute = createRoute({
  getParentRoute: () => promptsRoute,
  path: "$",
  validateSearch: validateOne,
  component: lazyRouteComponent(() => import("./PromptPage"), "PromptPage"),
});
