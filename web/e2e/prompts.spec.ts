import type { Page, Route } from "@playwright/test";
import { withRole } from "./role";
import { server } from "./server";
import { allowHosts, expect, expectAccessible, test } from "./test";

test.describe.configure({ mode: "parallel" }); // each test has prompts of its own

/** Calls the API with a key. */
async function call(
  method: string,
  path: string,
  body?: unknown,
  key = server().key,
  url = server().url,
): Promise<Record<string, unknown>> {
  const answer = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect(answer.ok, `${method} ${path}: ${answer.status} ${await answer.clone().text()}`).toBe(true);
  return (await answer.json()) as Record<string, unknown>;
}

const text = (content: string, message: string) => ({ kind: "chat", messages: [{ role: "user", content }], message });

const toast = (page: Page, title: string) => page.getByRole("dialog", { name: title });

/** A prompt with versions of a key, in a folder of its own. */
async function prompt(...contents: string[]): Promise<string> {
  const name = `e2e-${crypto.randomUUID().slice(0, 8)}/answer`;
  for (const [i, content] of contents.entries()) await call("POST", `/v1/prompts/${name}/versions`, text(content, `step ${i + 1}`));
  return name;
}

test("a prompt is created, edited, previewed, saved, promoted with its difference, and rolled back", async ({ page }) => {
  const name = `e2e-${crypto.randomUUID().slice(0, 8)}/reply`;
  await page.goto("/t/demo/prompts");
  await page.getByRole("button", { name: "Create prompt…" }).first().click();
  await page.getByLabel("Name", { exact: true }).fill("a/versions/b");
  await expect(page.getByText("versions is a word of the API's paths")).toBeVisible();
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByLabel("First message of the user").fill("Answer in {{language}}: {{question}}");
  await page.getByRole("button", { name: "Create prompt", exact: true }).click();

  // The draft: variables and preview, then a mistake beside its place.
  await expect(page.getByRole("status").getByText("Draft saved")).toBeVisible();
  await page.getByLabel("language").fill("French");
  await page.getByLabel("question").fill("Why? {{language}} <b>x</b>");
  const pane = page.getByRole("complementary", { name: "Details" });
  await expect(pane.getByText("Answer in French: Why? {{language}} <b>x</b>")).toBeVisible();
  await page.getByLabel("Model", { exact: true }).fill("sim");
  await expect(pane.getByText("At most, on sim")).toBeVisible();
  const editor = page.getByLabel("Text of message 1");
  await editor.fill("Answer in {{language: {{question}}");
  await expect(page.getByRole("region", { name: "Message 1" }).getByText(/line 1, column/)).toBeVisible();
  await editor.fill("Answer in {{language}}: {{question}}");
  await expect(page.getByRole("status").getByText("Draft saved", { exact: true })).toBeVisible();

  await page.getByRole("button", { name: "Save version…" }).click();
  await page.getByLabel("Message", { exact: true }).fill("first words");
  await page.getByRole("button", { name: "Save version", exact: true }).click();
  await expect(page).toHaveURL(/version=1/);
  await page.getByRole("button", { name: "Promote v1…" }).first().click();
  await expect(page.getByText("production is a new label. It names v1.")).toBeVisible();
  await page.getByRole("button", { name: "Promote to production" }).click();
  await expect(pane.getByText("by Operator with the admin key").first()).toBeVisible();

  // The second version, with the difference in both dialogs.
  await page.getByRole("button", { name: "Edit as draft" }).click();
  await editor.fill("Answer politely in {{language}}: {{question}}");
  await page.getByRole("button", { name: "Save version…" }).click();
  const saving = page.getByRole("dialog", { name: "Save a version" });
  await expect(saving.getByText("politely ")).toBeVisible();
  await saving.getByRole("button", { name: "Save version" }).click();
  await expect(page.getByRole("region", { name: "Version 2" })).toBeVisible();
  await page.getByRole("button", { name: "Promote v2…" }).first().click();
  const promoting = page.getByRole("dialog", { name: "Promote v2" });
  await expect(promoting.getByText("v2 replaces v1")).toBeVisible();
  await expect(promoting.getByText("politely ")).toBeVisible();
  await promoting.getByLabel("Reason").fill("<i>asked</i> for");
  await promoting.getByRole("button", { name: "Promote to production" }).click();
  await expect(pane.getByText(": <i>asked</i> for")).toBeVisible();

  await pane.getByRole("button", { name: "Roll back to v1" }).click();
  await expect(toast(page, "production names v1 again")).toBeVisible();
  expect((await call("GET", `/v1/prompts/${name}/labels/production`)).version).toBe(1);
  await toast(page, "production names v1 again").getByRole("button", { name: "Undo" }).click();
  await expect(pane.getByRole("button", { name: "Roll back to v1" })).toBeVisible();
  expect((await call("GET", `/v1/prompts/${name}/labels/production`)).version).toBe(2);

  // The list: the folder, and the prompt in it.
  await page
    .getByRole("link", { name: name.split("/")[0] ?? "" })
    .first()
    .click();
  const row = page.getByRole("row", { name: /reply/ });
  await expect(row).toContainText("production");
  await expect(row).toContainText("v2");
});

test("a label that somebody else moved stays, until the person has looked again", async ({ page }) => {
  const name = await prompt("one", "two", "three");
  await call("PUT", `/v1/prompts/${name}/labels/production`, { version: 1 });
  await page.goto(`/t/demo/prompts/${name}?from=1&to=3`);
  await expect(page.getByRole("region", { name: "Difference between v1 and v3" })).toContainText("three");
  await page.getByRole("button", { name: "Promote v3…" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Promote v3" });
  await expect(dialog.getByText("v3 replaces v1")).toBeVisible();
  // Somebody else is faster by the length of one call.
  const faster = async (route: Route) => {
    await call("PUT", `/v1/prompts/${name}/labels/production`, { version: 2 });
    await route.continue();
  };
  await page.route("**/labels/production", faster, { times: 1 });
  await dialog.getByRole("button", { name: "Promote to production" }).click();
  await expect(dialog.getByRole("alert")).toContainText("Somebody moved production meanwhile. Nothing was done.");
  expect((await call("GET", `/v1/prompts/${name}/labels/production`)).version).toBe(2);
  await dialog.getByRole("button", { name: "Look again" }).click();
  await expect(dialog.getByText("v3 replaces v2")).toBeVisible();
  await dialog.getByRole("button", { name: "Promote to production" }).click();
  await expect(dialog).toHaveCount(0);
  expect((await call("GET", `/v1/prompts/${name}/labels/production`)).version).toBe(3);

  // A draft that somebody else replaces comes in while the person edits it.
  await page.getByRole("button", { name: "Edit as draft" }).click();
  await page.getByLabel("Text of message 1").fill("mine");
  await expect(page.getByRole("status").getByText("Draft saved")).toBeVisible();
  await call("PUT", `/v1/prompts/${name}/draft`, { kind: "chat", messages: [{ role: "user", content: "theirs" }] });
  await expect(page.getByLabel("Text of message 1")).toHaveText("theirs");
  await page.getByLabel("Text of message 1").fill("theirs, and mine again");
  await expect(page.getByRole("status").getByText("Draft saved")).toBeVisible();
  const { messages } = await call("GET", `/v1/prompts/${name}/draft`);
  expect(messages).toEqual([{ role: "user", content: "theirs, and mine again" }]);
});

test("a protected label moves by a request that somebody else approves", async ({ page }) => {
  const s = server();
  const name = await prompt("one", "two");
  const folder = `${name.split("/")[0]}/`;
  const label = `release-${folder.slice(4, 8)}`;
  await page.goto("/t/demo/prompts?view=protections");
  await page.getByRole("button", { name: "Protect a label…" }).click();
  await page.getByLabel("Label", { exact: true }).fill(label);
  await page.getByLabel("Prompts", { exact: true }).fill(folder);
  await page.getByRole("button", { name: "Protect label", exact: true }).click();
  await expect(page.getByRole("row", { name: new RegExp(label) })).toContainText("by somebody else");

  // The request of a person: the person cannot approve it.
  const ask = async (version: number, existing: boolean) => {
    await page
      .getByRole("button", { name: `Promote v${version}…` })
      .first()
      .click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Label", { exact: true }).selectOption({ label: existing ? label : "New label…" });
    if (!existing) await dialog.getByLabel("New label").fill(label);
    await dialog.getByRole("button", { name: "Request promotion" }).click();
    await expect(dialog).toHaveCount(0);
  };
  await page.goto(`/t/demo/prompts/${name}`);
  await ask(2, false);
  await page.getByRole("button", { name: "Review request…" }).click();
  const review = page.getByRole("dialog", { name: `Move ${label} to v2` });
  await expect(review.getByText("You asked for this move, so somebody else approves it.")).toBeVisible();
  await expect(review.getByRole("button", { name: "Approve request" })).toHaveCount(0);
  await review.getByRole("button", { name: "Close", exact: true }).last().click();
  const { data } = (await call("GET", `/v1/prompts/${name}/requests?state=open`)) as { data: { id: string }[] };
  const made = await fetch(`${s.adminURL}/admin/v1/keys`, {
    method: "POST",
    headers: { authorization: `Bearer ${s.adminKey}`, "content-type": "application/json" },
    body: JSON.stringify({ tenant: "demo", name: label, scopes: ["prompts:read", "prompts:write", "admin"] }),
  });
  const { secret } = (await made.json()) as { secret: string };
  await call("POST", `/v1/prompts/${name}/requests/${data[0]?.id}/approve`, { note: "fine" }, secret);
  // The page hears of it by the event stream.
  const pane = page.getByRole("complementary", { name: "Details" });
  await expect(pane.getByText(`approved by ${label}`)).toBeVisible();

  // The request of a key: the person approves it, and sees the difference first.
  await call("POST", `/v1/prompts/${name}/labels/${label}/requests`, { version: 1, reason: "back" });
  await page.getByRole("button", { name: "Review request…" }).click();
  const second = page.getByRole("dialog", { name: `Move ${label} to v1` });
  await expect(second.getByRole("region", { name: "Difference between v2 and v1" })).toContainText("one");
  await second.getByRole("button", { name: "Approve request" }).click();
  await expect(second).toHaveCount(0);
  expect((await call("GET", `/v1/prompts/${name}/labels/${label}`)).version).toBe(1);

  await page.goto("/t/demo/prompts?view=protections");
  await page.getByRole("button", { name: `Remove the protection of ${label}` }).click();
  await page.getByLabel(new RegExp(`Type ${label}`)).fill(label);
  await page.getByRole("button", { name: "Remove protection" }).click();
  await expect(page.getByRole("row", { name: new RegExp(label) })).toHaveCount(0);
});

test("prompts are imported after a dry run that names file and line, and exported", async ({ page }) => {
  const name = `e2e-${crypto.randomUUID().slice(0, 8)}/greet`;
  await page.goto("/t/demo/prompts");
  await page.getByRole("button", { name: "Import…" }).click();
  const dialog = page.getByRole("dialog", { name: "Import prompts" });
  await dialog.getByRole("radio", { name: "Text" }).click();
  await dialog.getByLabel("Name of the file").fill(`${name}.prompt`);
  await dialog.getByLabel("Text", { exact: true }).fill("---\nmodel: sim\n---\nHello\n{{lookup orders key}}<b>x</b>\n");
  await expect(dialog.getByRole("region", { name: "Dry run" })).toContainText(`${name}.prompt:5`);
  await expect(dialog.getByRole("button", { name: "Import prompts" })).toBeDisabled();
  await dialog.getByLabel("Text", { exact: true }).fill("---\nmodel: sim\n---\nHello {{name}}\n");
  await dialog.getByRole("button", { name: "Import 1 prompt" }).click();
  await expect(dialog).toHaveCount(0);
  expect((await call("GET", `/v1/prompts/${name}`)).latest).toBe(1);

  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Export prompts…" }).click();
  await page.getByLabel("Format").selectOption("dotprompt");
  await page.getByLabel("Names that begin with").last().fill(name);
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export prompts" }).click();
  expect((await download).suggestedFilename()).toBe("prompts-dotprompt.zip");
});

test("a viewer reads prompts and has no acts", async ({ browser }) => {
  const key = "psk_viewer_7gq2xk9dmw4ztfv8hsb3rnj6cp";
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the server reads the variable.
  const keys = [{ name: "app", secret: "${E2E_TENANT_KEY}", scopes: ["prompts:read", "prompts:write"] }];
  const other = await withRole("viewer", "search", { tenants: { search: { keys }, secret: {} } }, { E2E_TENANT_KEY: key });
  allowHosts(new URL(other.url).host);
  try {
    const write = (method: string, path: string, body: unknown) => call(method, path, body, key, other.url);
    await write("POST", "/v1/prompts/a/b/versions", text("Hi {{name}} <script>", "first"));
    await write("POST", "/v1/prompts/a/b/versions", text("Hello {{name}}", "second"));
    await write("PUT", "/v1/prompts/a/b/labels/production", { version: 1 });
    await write("PUT", "/v1/prompts/a/b/draft", { kind: "chat", messages: [{ role: "user", content: "Draft {{name}}" }] });
    const context = await browser.newContext({ baseURL: other.url, storageState: other.state });
    const page = await context.newPage();
    await page.goto("/t/search/prompts?folder=a/");
    await expect(page.getByRole("row", { name: /b/ }).last()).toContainText("1 behind");
    await expect(page.getByRole("button", { name: "Create prompt…" })).toHaveCount(0);
    await page.goto("/t/search/prompts/a/b?version=1");
    await expect(page.getByText("<script>")).toBeVisible();
    for (const act of [/Promote/, /Roll back/, /Edit as draft|Open draft/, /Remove/]) {
      await expect(page.getByRole("button", { name: act })).toHaveCount(0);
    }
    await page.getByRole("button", { name: "More actions" }).click();
    await expect(page.getByRole("menuitem")).toHaveText(["Copy as curl"]);
    await page.keyboard.press("Escape");
    await page.goto("/t/search/prompts/a/b?tab=draft");
    await page.getByLabel("name").fill("Ann");
    await expect(page.getByText("Draft Ann")).toBeVisible();
    await expect(page.getByRole("button", { name: /Save version|Discard/ })).toHaveCount(0);
    await expectAccessible(page, "structure");
    await context.close();
  } finally {
    allowHosts();
    await other.stop();
  }
});
