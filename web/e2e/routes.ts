/** Every page: its name, its path, and a text that shows when it has loaded. Each is tested by axe in both themes and pictured by `make screenshots`. */
export const routes: readonly { name: string; path: string; shows: string; anonymous?: boolean }[] = [
  { name: "sign-in", path: "/sign-in", shows: "Sign in to Penstock", anonymous: true },
  { name: "home-all", path: "/all", shows: "Home" },
  { name: "home", path: "/t/demo", shows: "Home" },
  { name: "jobs", path: "/t/demo/jobs", shows: "Succeeded" },
  { name: "tenants", path: "/all/tenants", shows: "Enabled" },
  { name: "tenant", path: "/all/tenants/demo", shows: "Retention" },
  { name: "keys", path: "/t/demo/keys", shows: "Active" },
  { name: "budgets", path: "/all/tenants/demo?tab=budgets", shows: "In their current period" },
  { name: "sessions", path: "/all/members?tab=sessions", shows: "This session" },
  { name: "audit-all", path: "/all/audit", shows: "session.create" },
  { name: "settings", path: "/all/settings", shows: "Configuration in force" },
  { name: "account", path: "/all/settings?section=account", shows: "Your sessions" },
  { name: "not-found", path: "/nothing", shows: "No page has this address" },
];
