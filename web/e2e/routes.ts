/** Every page: its name, its path, and a text that shows when it has loaded. Each is tested by axe in both themes and pictured by `make screenshots`. */
export const routes: readonly { name: string; path: string; shows: string; anonymous?: boolean }[] = [
  { name: "sign-in", path: "/sign-in", shows: "Sign in to Penstock", anonymous: true },
  { name: "home-all", path: "/all", shows: "Home" },
  { name: "home", path: "/t/demo", shows: "Home" },
  { name: "jobs", path: "/t/demo/jobs", shows: "Succeeded" },
  { name: "usage", path: "/t/demo/usage", shows: "Tokens by class" },
  { name: "usage-all", path: "/all/usage", shows: "Cost per day" },
  { name: "forecast", path: "/all/forecast", shows: "No forecast yet" },
  { name: "not-found", path: "/nothing", shows: "No page has this address" },
];
