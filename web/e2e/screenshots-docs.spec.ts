import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { toPalette } from "./palette";
import { penstock, type Started } from "./penstock";
import { expect, setTheme, test } from "./test";

/** A picture of docs/tutorial/console.md: its name, the page of the demo, and a text that shows when the page has loaded. */
interface Picture {
  name: string;
  path: string | ((page: Page) => Promise<string>);
  shows: string | RegExp;
  act?: (page: Page) => Promise<void>;
}

const pictures: readonly Picture[] = [
  { name: "batches", path: "/t/lumen-shop/batches", shows: "Running" }, // first: the load of the demo has begun when it shows
  { name: "home", path: "/all", shows: "Traffic by lane" },
  { name: "jobs", path: "/t/lumen-shop/jobs", shows: "Succeeded" },
  { name: "job", path: failedJob, shows: "Timeline" },
  { name: "requests", path: "/t/northwind-support/requests", shows: "Succeeded" },
  { name: "queues", path: "/all/queues", shows: "slots in use" },
  { name: "dead-letters", path: "/t/halden-legal/dead-letters", shows: "Difference of two inputs" },
  { name: "webhooks", path: brokenEndpoint, shows: "Claims workflow" },
  {
    name: "playground",
    path: comparedPrompts,
    shows: "Differences from A",
    act: (page) => expect(page.getByText("Done", { exact: true })).toHaveCount(3),
  },
  { name: "models", path: "/all/models", shows: "vllm-llama-3.3-70b" },
  { name: "prompts", path: "/t/northwind-support/prompts/support/reply?from=production&to=latest", shows: "Label history" },
  { name: "prompt-draft", path: "/t/northwind-support/prompts/support/reply?tab=draft", shows: "Draft saved", act: fillVariables },
  { name: "usage", path: "/all/usage", shows: "Tokens by class" },
  { name: "forecast", path: "/all/forecast", shows: "No forecast yet", act: twoForecasts },
  { name: "tenants", path: "/all/tenants", shows: "halden-legal" },
  { name: "audit", path: "/all/audit", shows: "Priya Nair" },
];

/** The newest failed job of a tenant. */
async function failedJob(page: Page): Promise<string> {
  const [job] = await listOf<{ id: string }>(page, "halden-legal", "/v1/jobs?status=failed&limit=1");
  return `/t/halden-legal/jobs/${job?.id}`;
}

/** The endpoint whose receiver is down. */
async function brokenEndpoint(page: Page): Promise<string> {
  const all = await listOf<{ id: string; description: string }>(page, "brightway-insurance", "/v1/webhooks");
  return `/t/brightway-insurance/webhooks/${all.find((e) => e.description.startsWith("Claims workflow"))?.id}`;
}

/** A run of two versions of a prompt, one of them on two models. */
async function comparedPrompts(page: Page): Promise<string> {
  const tenant = "northwind-support";
  const { csrf } = (await (await page.request.get("/v1/me")).json()) as { csrf: string };
  const headers = { origin: new URL(page.url()).origin, "x-penstock-tenant": tenant, "x-penstock-csrf": csrf };
  const call = async <T>(method: string, path: string, data: object): Promise<T> => {
    const answer = await page.request.fetch(path, { method, headers, data });
    expect(answer.ok(), await answer.text()).toBe(true);
    return (await answer.json()) as T;
  };
  const models = (await listOf<{ id: string }>(page, tenant, "/v1/models")).map((m) => m.id).filter((id) => !/embed|rerank/.test(id));
  const text = { type: "string" };
  const version = (rules: string) => ({
    kind: "chat",
    messages: [
      {
        role: "system",
        content: `You triage tickets for {{plan}} customers.\nAnswer in {{locale}}, as JSON only.\nP1 outage, P2 money lost, P3 question.\n${rules}`,
      },
      { role: "user", content: "{{customer_name}} writes:\n{{ticket}}" },
    ],
    config: {
      model: models[0],
      temperature: 0.2,
      max_tokens: 400,
      seed: 7,
      response_format: { type: "json_schema", json_schema: { name: "triage", strict: true, schema: triage } },
    },
    input_schema: {
      type: "object",
      required: ["customer_name", "plan", "locale", "ticket"],
      properties: { customer_name: text, plan: { enum: ["Free", "Business"] }, locale: text, ticket: text },
    },
  });
  await call("POST", "/v1/prompts/support/triage/versions", version("Be polite. If unsure, set needs_human.\nNever promise a date."));
  await call("PUT", "/v1/prompts/support/triage/labels/production", { version: 1 });
  await call(
    "POST",
    "/v1/prompts/support/triage/versions",
    version("Charged twice? It is P2, and needs no human\nwhen both captures match."),
  );
  const of = (ref: object, rest: object = {}) => ({ prompt: { name: "support/triage", ...ref }, ...rest });
  const setup = {
    columns: [of({ label: "production" }), of({ version: 2 }, { params: { temperature: 0.7 } }), of({ version: 2 }, { model: models[2] })],
    rows: [
      {
        customer_name: "Customer 4821",
        plan: "Business",
        locale: "en-GB",
        ticket: "Hi, I was charged twice for order 88-20417 on 12 November. Please fix it.",
      },
    ],
  };
  const run = await call<{ id: string }>("POST", "/v1/playground/runs", { name: "Refund tone, round 3", setup });
  return `/t/${tenant}/playground?run=${run.id}&marks=differences`;
}

const triage = {
  type: "object",
  properties: {
    category: { enum: ["billing", "delivery", "account"] },
    priority: { enum: ["P1", "P2", "P3"] },
    needs_human: { type: "boolean" },
    reply: { type: "string" },
  },
  required: ["category", "priority", "needs_human", "reply"],
  additionalProperties: false,
};

async function listOf<T>(page: Page, tenant: string, path: string): Promise<T[]> {
  const answer = await page.request.get(path, { headers: { "x-penstock-tenant": tenant } });
  return ((await answer.json()) as { data: T[] }).data;
}

/** The second run has five times the load, so that the comparison has something to show. */
async function twoForecasts(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Run forecast" }).click();
  await expect(page.getByRole("heading", { name: "Run 1" })).toBeVisible();
  await page.getByRole("radio", { name: "×5" }).click();
  await page.getByRole("button", { name: "Run forecast" }).click();
  await expect(page.getByRole("heading", { name: "Run 2" })).toBeVisible();
}

/** Values for the preview of the draft. */
async function fillVariables(page: Page): Promise<void> {
  const orders = '[{"number": "NW-10482", "state": "shipped"}]';
  const values = { agent: "Ben", brand: "Northwind", history: "[]", orders, question: "Where is my order?", tone: "kind" };
  for (const [name, value] of Object.entries(values)) await page.getByLabel(name, { exact: true }).fill(value);
  await expect(page.getByText("At most, on")).toBeVisible();
}

const folder = join(import.meta.dirname, "../../docs/images/console");

test.describe("pictures of the docs", () => {
  test.describe.configure({ mode: "serial" });
  test.use({ anonymous: true });
  let demo: Started | undefined;
  const found = (pattern: RegExp) => pattern.exec(demo?.output() ?? "")?.[1] ?? "";

  test.beforeAll(async () => {
    test.setTimeout(150_000);
    mkdirSync(folder, { recursive: true });
    demo = await penstock({ args: ["dev", "--demo"], ready: /Commands need no key/, withinMs: 120_000 });
  });
  test.afterAll(() => demo?.stop());

  test("the pages of the demo", async ({ browser }) => {
    test.setTimeout(300_000);
    const context = await browser.newContext({
      baseURL: found(/API +(http\S+)/),
      viewport: { width: 1440, height: 900 },
      locale: "en-GB",
      timezoneId: "UTC",
    });
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    await setTheme(page, "light");
    await page.goto(`/sign-in#token=${found(/sign-in#token=(\S+)/)}`);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await expect(page).not.toHaveURL(/sign-in/);
    for (const { name, path, shows, act } of pictures) {
      await page.goto(typeof path === "string" ? path : await path(page));
      await expect(page.getByText(shows).filter({ visible: true }).first()).toBeVisible();
      await act?.(page);
      await page.evaluate(() => document.fonts.ready);
      await page.waitForTimeout(1500); // charts and late panels
      writeFileSync(join(folder, `${name}.png`), toPalette(await page.screenshot()));
    }
    await context.close();
  });
});
