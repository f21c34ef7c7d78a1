/** Every page: its name, its path, and a text that shows when it has loaded. Each is tested by axe in both themes and pictured by `make screenshots`. */
export const routes: readonly { name: string; path: string; shows: string; anonymous?: boolean }[] = [
  { name: "sign-in", path: "/sign-in", shows: "Sign in to Penstock", anonymous: true },
  { name: "home-all", path: "/all", shows: "Home" },
  { name: "home", path: "/t/demo", shows: "Home" },
  { name: "jobs", path: "/t/demo/jobs", shows: "Succeeded" },
  { name: "requests", path: "/t/demo/requests", shows: "Succeeded" },
  { name: "files", path: "/t/demo/files", shows: "stored" },
  { name: "docs", path: "/docs", shows: "First call", anonymous: true },
  { name: "docs-operation", path: "/docs?op=postChatCompletions", shows: "Idempotency-Key" },
  { name: "not-found", path: "/nothing", shows: "No page has this address" },
];
