/** Whether this console has the page of the playground. Its links show only then. */
export const playgroundServed: boolean = false;

/** The link to the playground with a version of a prompt, or with its draft (null). */
export function playgroundLink(tenant: string, name: string, version: number | null) {
  return {
    to: "/t/$tenant/playground",
    params: { tenant },
    search: { prompt: name, ...(version === null ? { draft: "yes" } : { version }) },
  };
}
