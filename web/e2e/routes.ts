/** Every page: its name, its path, and a text that shows when it has loaded. Each is tested by axe in both themes and pictured by `make screenshots`. */
export const routes: readonly { name: string; path: string; shows: string; anonymous?: boolean }[] = [
  { name: "sign-in", path: "/sign-in", shows: "Sign in to Penstock", anonymous: true },
  { name: "home-all", path: "/all", shows: "Home" },
  { name: "home", path: "/t/demo", shows: "Home" },
  { name: "jobs", path: "/t/demo/jobs", shows: "Succeeded" },
  { name: "queues-all", path: "/all/queues", shows: "slots in use" },
  { name: "queues", path: "/t/demo/queues", shows: "Arriving" },
  { name: "models-all", path: "/all/models", shows: "sim-anthropic" },
  { name: "models", path: "/t/demo/models", shows: "ordered" },
  { name: "model", path: "/t/demo/models/sim", shows: "would be called" },
  { name: "catalogue", path: "/t/demo/models?tab=catalogue", shows: "claude" },
  { name: "dead-letters", path: "/t/demo/dead-letters", shows: "Difference of two inputs" },
  { name: "webhooks", path: "/t/demo/webhooks", shows: "No endpoints yet" },
  { name: "webhooks-of-jobs", path: "/t/demo/webhooks?view=jobs", shows: "No job has had a webhook yet" },
  { name: "not-found", path: "/nothing", shows: "No page has this address" },
];
