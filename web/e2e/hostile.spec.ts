import { createServer, type Server } from "node:http";
import type { BrowserContext } from "@playwright/test";
import { freePort, type Started } from "./penstock";
import { routes } from "./routes";
import { adminKey, serve } from "./serve";
import { keepSession } from "./server";
import { allowHosts, expect, test } from "./test";

// Texts that run as a script wherever a page takes them for HTML, an attribute or an address.
const html = `"><img src=x onerror=alert(1)><script>alert(1)</script>`;
const short = "<svg/onload=alert(1)>";
const address = "javascript:alert(1)//https://example.com/";
const tenantKey = "psk_hostile_7gq2xk9dmw4ztfv8hsb3rnj6cp";

// biome-ignore lint/suspicious/noTemplateCurlyInString: the server reads the variable.
const secretOf = "${E2E_TENANT_KEY}";

let url = "";
let server: Started;
let upstream: Server;

test.use({ anonymous: true });

test.beforeAll(async () => {
  const port = await freePort();
  upstream = createServer(answerBadly);
  await new Promise<void>((resolve) => upstream.listen(port, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${await freePort()}`;
  const settings = {
    providers: { up: { kind: "openai", base_url: `http://127.0.0.1:${port}` } },
    tenants: {
      demo: {
        keys: [
          {
            name: "app",
            secret: secretOf,
            scopes: ["inference", "jobs:write", "jobs:read", "webhooks", "prompts:read", "prompts:write", "admin"],
          },
        ],
      },
    },
  };
  server = await serve(url, settings, { E2E_TENANT_KEY: tenantKey });
  allowHosts(new URL(url).host);
});

test.afterAll(async () => {
  allowHosts();
  await server?.stop();
  upstream?.close();
});

/** An upstream whose texts are hostile: ids, names of models, contents and errors. */
const answerBadly: Parameters<typeof createServer>[1] = (request, answer) => {
  let body = "";
  request.on("data", (piece) => {
    body += piece;
  });
  request.on("end", () => {
    const fails = body.includes("please fail");
    answer.writeHead(fails ? 400 : 200, { "content-type": "application/json", "x-request-id": html });
    const message = { role: "assistant", content: html };
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const error = { message: html, type: short, code: short, param: short };
    const good = {
      id: html,
      object: "chat.completion",
      created: 1,
      model: html,
      choices: [{ index: 0, message, finish_reason: "stop" }],
      usage,
    };
    answer.end(JSON.stringify(fails ? { error } : good));
  });
};

/** Makes a call. A refused value is as good as a stored one, so it returns whether the value was stored. */
async function call(path: string, body: unknown, headers: Record<string, string> = {}): Promise<boolean> {
  const json = !(body instanceof FormData);
  const answer = await fetch(url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${tenantKey}`, ...(json ? { "content-type": "application/json" } : {}), ...headers },
    body: json ? JSON.stringify(body) : body,
  });
  expect(answer.status, `${path}: ${await answer.clone().text()}`).toBeLessThan(500);
  if (!answer.ok) test.info().annotations.push({ type: "refused", description: `${path}: ${await answer.text()}` });
  return answer.ok;
}

/** Puts hostile texts into every field that a tenant controls. */
async function fillIn(): Promise<string[]> {
  const stored: string[] = [];
  const add = async (field: string, done: Promise<boolean>) => {
    if (await done) stored.push(field);
  };
  const wait = { prefer: "wait=10" };
  const file = new FormData();
  file.set("purpose", "user_data");
  file.set("file", new Blob([html]), `${short}.txt`);
  const lines = new FormData();
  lines.set("purpose", "batch");
  const line = {
    custom_id: html,
    method: "POST",
    url: "/v1/chat/completions",
    body: { model: "fast", messages: [{ role: "user", content: html }] },
  };
  lines.set("file", new Blob([`${JSON.stringify(line)}\n`]), `${short}.jsonl`);
  await Promise.all([
    add("tags, output", call("/v1/jobs", { model: "fast", input: html, tags: { note: html, address } }, wait)),
    add("names of tags", call("/v1/jobs", { model: "fast", input: "Hi", tags: { [short]: "x" } }, wait)),
    add("errors", call("/v1/jobs", { model: "fast", input: `please fail ${html}`, tags: { note: short } }, wait)),
    add(
      "custom ids",
      call("/v1/jobs", { model: "fast", inputs: [{ custom_id: html, body: { messages: [{ role: "user", content: html }] } }] }, wait),
    ),
    add("webhook of a job", call("/v1/jobs", { model: "fast", input: "Hi", webhook: { url: address } })),
    add(
      "subject",
      call("/v1/chat/completions", { model: "fast", messages: [{ role: "user", content: html }], user: html, metadata: { note: html } }),
    ),
    add(
      "headers",
      call("/v1/chat/completions", { model: "fast", messages: [{ role: "user", content: "please fail" }] }, { "x-penstock-subject": html }),
    ),
    add("unknown model", call("/v1/chat/completions", { model: html, messages: [{ role: "user", content: "Hi" }] })),
    add("idempotency key", call("/v1/jobs", { model: "fast", input: "Hi" }, { "idempotency-key": short })),
    add("name of a file", call("/v1/files", file)),
    add("name of a batch file", call("/v1/files", lines)),
    add(
      "description of a webhook",
      call("/v1/webhooks", { url: "https://example.com/hook?<svg/onload=alert(1)>", description: html, events: ["job.finished"] }),
    ),
    add("address of a webhook", call("/v1/webhooks", { url: address, events: ["job.finished"] })),
  ]);
  return stored;
}

/** A prompt whose texts are all hostile, with two versions, a label, a request and a draft. */
async function fillInPrompt(): Promise<boolean> {
  const put = async (path: string, body: unknown) => {
    const headers = { authorization: `Bearer ${tenantKey}`, "content-type": "application/json" };
    const answer = await fetch(url + path, { method: "PUT", headers, body: JSON.stringify(body) });
    if (!answer.ok) test.info().annotations.push({ type: "refused", description: `${path}: ${await answer.text()}` });
    return answer.ok;
  };
  const chat = (text: string) => ({
    kind: "chat",
    messages: [{ role: "user", content: `${html} {{> lib/x}} ${text}` }],
    config: { tools: [{ type: "function", function: { name: "f", description: html, parameters: { type: "object" } } }] },
  });
  const done = [
    await call("/v1/prompts/lib/x/versions", { kind: "text", text: html, message: html }),
    await put("/v1/prompts/lib/x/labels/production", { version: 1, reason: html }),
    await call("/v1/prompts/lib/y/versions", { ...chat("one"), message: html }),
    await call("/v1/prompts/lib/y/versions", { ...chat("two"), message: html }),
    await put("/v1/prompts/lib/y/labels/production", { version: 1, reason: html }),
    await call("/v1/prompts/lib/y/labels/production/requests", { version: 2, reason: html }),
    await put("/v1/prompts/lib/y/draft", chat(html)),
  ];
  return done.every(Boolean);
}

/** Puts hostile texts into fields that operators write. */
async function fillInAsAdmin(context: BrowserContext): Promise<string[]> {
  const { csrf } = (await (await context.request.get(`${url}/v1/me`)).json()) as { csrf: string };
  const headers = { origin: url, "x-penstock-csrf": csrf, "content-type": "application/json" };
  const stored: string[] = [];
  const write = async (field: string, method: "post" | "put", path: string, data: unknown) => {
    const answer = await context.request[method](url + path, { headers, data });
    expect(answer.status(), `${field}: ${await answer.text()}`).toBeLessThan(500);
    if (answer.ok()) stored.push(field);
    else test.info().annotations.push({ type: "refused", description: `${field}: ${await answer.text()}` });
  };
  await write("name of a key", "post", "/admin/v1/keys", { tenant: "demo", name: short });
  await write("reason of a pause", "put", "/admin/v1/controls/lane/bulk", { state: "paused", reason: html });
  await write("reason of a drain", "put", "/admin/v1/controls/target/main", { state: "draining", reason: html });
  await write("address of a member", "post", "/admin/v1/members", { email: `${short}@example.com`, role: "viewer", tenant: "demo" });
  await write("tier of a tenant", "post", "/admin/v1/tenants", { id: "other", tier: html });
  return stored;
}

/** A path without ids, so that one page of each kind is opened. */
function shapeOf(path: string): string {
  return path.replace(/[a-z]+_[0-9A-Z]{20,}(?:\.[0-9]+)?/g, "ID").replace(/=[^&]*/g, "");
}

test("texts of tenants never run: every page, and every page behind its links", async ({ browser }) => {
  test.setTimeout(120_000);
  const stored = await fillIn();
  if (await fillInPrompt()) stored.push("texts of a prompt");
  expect(stored).toEqual(
    expect.arrayContaining([
      "tags, output",
      "errors",
      "custom ids",
      "subject",
      "description of a webhook",
      "name of a file",
      "texts of a prompt",
    ]),
  );

  const state = await keepSession(url, adminKey);
  const context = await browser.newContext({ storageState: state, userAgent: html });
  const ran: string[] = [];
  await context.exposeFunction("alert", (text: unknown) => {
    ran.push(`alert ${text} on ${page.url()}`);
  });
  await context.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (e) => alert(`${e.violatedDirective} ${e.blockedURI}`));
  });
  const page = await context.newPage();
  page.on("pageerror", (e) => ran.push(`error ${e.message} on ${page.url()}`));

  const byAdmin = await fillInAsAdmin(context);
  expect(byAdmin).toEqual(expect.arrayContaining(["reason of a pause", "reason of a drain"])); // names and addresses with such texts are refused
  stored.push(...byAdmin);
  const open = routes.flatMap((r) => (typeof r.path === "string" && !r.anonymous ? [r.path] : []));
  open.push("/t/demo/prompts/lib/y", "/t/demo/prompts/lib/y?tab=draft", "/t/demo/prompts/lib/y?from=draft&to=latest");
  const seen = new Set<string>();
  let withText = 0;
  for (let path = open.shift(); path !== undefined; path = open.shift()) {
    if (seen.has(shapeOf(path))) continue;
    seen.add(shapeOf(path));
    await page.goto(url + path, { waitUntil: "load" });
    await expect(page.locator("h1").first()).toBeVisible();
    await expect(page.locator("[aria-busy=true]")).toHaveCount(0);
    for (const button of await page.getByRole("button", { name: /^(Show|Reveal)/ }).all())
      await button.click({ timeout: 2000 }).catch(() => {});
    const found = await page.evaluate(() => ({
      text: /on(load|error)=alert\(1\)/.test(document.body.textContent),
      handlers: document.querySelectorAll("[onerror],[onload],[href^='javascript:' i],[src^='javascript:' i],body script").length,
      links: [...document.querySelectorAll("a[href]")].map((a) => a.getAttribute("href") ?? ""),
    }));
    if (found.text) withText++;
    expect(found.handlers, `elements with a script on ${path}`).toBe(0);
    open.push(
      ...found.links
        .map((href) => new URL(href, url))
        .flatMap((u) => (u.origin === url && /^\/(t|all)\//.test(u.pathname) ? [u.pathname + u.search] : [])),
    );
  }
  expect(ran).toEqual([]);
  expect(withText, "pages that show a hostile text").toBeGreaterThan(10);
  test
    .info()
    .annotations.push({ type: "pages", description: `${seen.size} pages, ${withText} with a hostile text; stored: ${stored.join("; ")}` });
  await context.close();
});
