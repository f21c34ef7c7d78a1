import { asPerson } from "./person";
import { server } from "./server";

export interface Route {
  name: string;
  /** The path; where it has an id, how to find it. */
  path: string | (() => Promise<string>);
  /** A text that shows when the page has loaded. */
  shows: string;
  anonymous?: boolean;
}

/** The page of the newest object in a list of the API. */
async function newest(list: string, page: string): Promise<string> {
  const { url, key } = server();
  const response = await fetch(`${url}/v1/${list}`, { headers: { authorization: `Bearer ${key}` } });
  const { data } = (await response.json()) as { data: { id: string }[] };
  if (!data[0]) throw new Error(`the tenant has nothing in ${list}`);
  return `/t/demo/${page}/${data[0].id}`;
}

/** The page of a prompt with several versions. */
async function somePrompt(search: string): Promise<string> {
  const { url, key } = server();
  const response = await fetch(`${url}/v1/prompts`, { headers: { authorization: `Bearer ${key}` } });
  const { data } = (await response.json()) as { data: { name: string; kind: string; versions: number; draft: string | null }[] };
  const found = data.find((p) => p.kind === "chat" && p.versions > 1 && p.draft !== null);
  if (!found) throw new Error("the tenant has no prompt with two versions and a draft");
  return `/t/demo/prompts/${found.name}${search}`;
}

/** A run of the person with two columns, beside the history. */
async function playgroundRun(): Promise<string> {
  const models = (await asPerson<{ data: { id: string }[] }>("GET", "/v1/models")).data
    .map((m) => m.id)
    .filter((id) => !/embed|rerank/.test(id));
  const content = (text: string) => ({ kind: "chat", messages: [{ role: "user", content: text }] });
  const tools = [{ type: "function", function: { name: "look_up" } }];
  const columns = [
    { content: content("Answer {{question}}"), model: models[0], tools, tool_results: { look_up: "{}" } },
    { content: content("Answer in one sentence: {{question}}"), model: models.at(-1), params: { temperature: 0.2 } },
  ];
  const body = { name: "One sentence", setup: { columns, rows: [{ question: "Where is my order?" }] } };
  const { id } = await asPerson<{ id: string }>("POST", "/v1/playground/runs", body);
  return `/t/demo/playground?run=${id}&pane=history&marks=differences`;
}

async function sharedRun(): Promise<string> {
  const run_id = new URLSearchParams((await playgroundRun()).split("?")[1]).get("run");
  const { url } = await asPerson<{ url: string }>("POST", "/v1/playground/shares", { run_id, kind: "role", role: "viewer" });
  return url;
}

export function pathOf({ path }: Route): Promise<string> {
  return typeof path === "string" ? Promise.resolve(path) : path();
}

/** Every page. Each is tested by axe in both themes and pictured by `make screenshots`. */
export const routes: readonly Route[] = [
  { name: "sign-in", path: "/sign-in", shows: "Sign in to Penstock", anonymous: true },
  { name: "home-all", path: "/all", shows: "Traffic by lane" },
  { name: "home", path: "/t/demo", shows: "Traffic by lane" },
  { name: "jobs", path: "/t/demo/jobs", shows: "Succeeded" },
  { name: "job", path: () => newest("jobs?limit=1&status=failed", "jobs").catch(() => newest("jobs?limit=1", "jobs")), shows: "Attempts" },
  { name: "job-items", path: async () => (await newest("batches?limit=1", "jobs")).replace("batch_", "job_"), shows: "Items" },
  { name: "batches", path: "/t/demo/batches", shows: "New batch" },
  { name: "batch", path: () => newest("batches?limit=1", "batches"), shows: "Endpoint" },
  { name: "requests", path: "/t/demo/requests", shows: "Succeeded" },
  { name: "request", path: () => newest("requests?limit=1", "requests"), shows: "Attempt 1" },
  { name: "files", path: "/t/demo/files", shows: "stored" },
  { name: "file", path: () => newest("files?limit=1", "files"), shows: "Purpose" },
  { name: "docs", path: "/docs", shows: "First call", anonymous: true },
  { name: "docs-operation", path: "/docs?op=postChatCompletions", shows: "Idempotency-Key" },
  { name: "queues-all", path: "/all/queues", shows: "slots in use" },
  { name: "queues", path: "/t/demo/queues", shows: "Arriving" },
  { name: "playground", path: "/t/demo/playground", shows: "Try a prompt before you save it" },
  { name: "playground-run", path: playgroundRun, shows: "Mine" },
  { name: "playground-shared", path: sharedRun, shows: "shared run" },
  { name: "models-all", path: "/all/models", shows: "sim-anthropic" },
  { name: "models", path: "/t/demo/models", shows: "ordered" },
  { name: "model", path: "/t/demo/models/sim", shows: "would be called" },
  { name: "catalogue", path: "/t/demo/models?tab=catalogue", shows: "claude" },
  { name: "prompts", path: "/t/demo/prompts", shows: "Create prompt" },
  { name: "prompt", path: () => somePrompt(""), shows: "Label history" },
  { name: "prompt-changes", path: () => somePrompt("?from=1&to=latest"), shows: "Changed from v1" },
  { name: "prompt-draft", path: () => somePrompt("?tab=draft"), shows: "Draft saved" },
  { name: "prompt-protections", path: "/t/demo/prompts?view=protections", shows: "protect" },
  { name: "dead-letters", path: "/t/demo/dead-letters", shows: "Difference of two inputs" },
  { name: "webhooks", path: "/t/demo/webhooks", shows: "No endpoints yet" },
  { name: "webhooks-of-jobs", path: "/t/demo/webhooks?view=jobs", shows: "No job has had a webhook yet" },
  { name: "tenants", path: "/all/tenants", shows: "Enabled" },
  { name: "tenant", path: "/all/tenants/demo", shows: "Retention" },
  { name: "keys", path: "/t/demo/keys", shows: "Active" },
  { name: "budgets", path: "/all/tenants/demo?tab=budgets", shows: "No budget" },
  { name: "limits", path: "/all/tenants/demo?tab=limits", shows: "Requests per minute" },
  { name: "tenant-members", path: "/all/tenants/demo?tab=members", shows: "Admin" },
  { name: "members-all", path: "/all/members", shows: "Grant role" },
  { name: "members", path: "/t/demo/members", shows: "Grant role" },
  { name: "roles", path: "/all/members?tab=roles", shows: "Auditor" },
  { name: "sessions", path: "/all/members?tab=sessions", shows: "This session" },
  { name: "audit-all", path: "/all/audit", shows: "session.create" },
  { name: "audit", path: "/t/demo/audit", shows: "Time" },
  { name: "settings", path: "/all/settings", shows: "Configuration in force" },
  { name: "account", path: "/all/settings?section=account", shows: "Your sessions" },
  { name: "preferences", path: "/all/settings?section=preferences", shows: "Theme" },
  { name: "deprecations", path: "/all/settings?section=deprecations", shows: "Deprecations of the API" },
  { name: "about", path: "/all/settings?section=about", shows: "Version" },
  { name: "usage", path: "/t/demo/usage", shows: "Tokens by class" },
  { name: "usage-all", path: "/all/usage", shows: "Cost per day" },
  { name: "forecast", path: "/all/forecast", shows: "No forecast yet" },
  { name: "not-found", path: "/nothing", shows: "No page has this address" },
];
