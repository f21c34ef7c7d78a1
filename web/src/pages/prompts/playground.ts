import { useVisiblePages } from "@/frame/Sidebar";

/** Whether the console has the page of the playground, and the person may see it. Links to it show only then. */
export function usePlaygroundServed(): boolean {
  return useVisiblePages().some((page) => page.id === "playground");
}

/** The link to the playground with a version of a prompt, or with its draft (null). */
export function playgroundLink(tenant: string, name: string, version: number | null) {
  return {
    to: "/t/$tenant/playground",
    params: { tenant },
    search: { prompt: name, ...(version === null ? { draft: "yes" } : { version: String(version) }) },
  };
}
