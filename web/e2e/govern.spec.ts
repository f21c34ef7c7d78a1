import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, type Started } from "./penstock";
import { adminKey, serve } from "./serve";
import { keepSession, server } from "./server";
import { expect, test } from "./test";

test("a key is shown once, works, and is refused within a second after it was revoked", async ({ page }) => {
  const s = server();
  const name = `e2e-${Date.now()}`;
  const call = (key: string) => fetch(`${s.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } }).then((r) => r.status);
  await page.goto("/t/demo/keys");
  await page.getByRole("button", { name: "Create key…" }).click();
  await page.getByLabel("Name").fill(name);
  await page.getByRole("button", { name: "Create key", exact: true }).click();

  const shown = page.getByRole("dialog", { name: `Key ${name} of demo` });
  await expect(shown.locator("[data-secret]")).toHaveText(/^psk_/);
  const secret = (await shown.locator("[data-secret]").textContent()) ?? "";
  expect(await call(secret)).toBe(200);
  await expect(shown.getByRole("button", { name: "Close" }).last()).toBeDisabled();
  await shown.getByRole("checkbox", { name: "I have stored the key" }).click();
  await shown.getByRole("button", { name: "Close" }).last().click();
  await expect(page.getByRole("row", { name: new RegExp(name) })).toBeVisible();
  expect(await page.content(), "the secret is gone from the page").not.toContain(secret);

  await page.getByRole("button", { name: `Actions on the key ${name}` }).click();
  await page.getByRole("menuitem", { name: "Revoke key…" }).click();
  const confirm = page.getByRole("dialog", { name: `Revoke the key ${name}?` });
  await expect(confirm.getByRole("button", { name: "Revoke key" })).toBeDisabled();
  await confirm.getByRole("textbox").fill(name);
  const answered = page.waitForResponse((r) => r.request().method() === "DELETE");
  await confirm.getByRole("button", { name: "Revoke key" }).click();
  await answered;
  const revoked = Date.now();
  while ((await call(secret)) !== 401) expect(Date.now() - revoked, "milliseconds after the revocation").toBeLessThan(1000);
  await expect(page.getByRole("row", { name: new RegExp(name) })).toHaveCount(0);

  await page.goto("/t/demo/audit?action=key");
  await expect(page.getByRole("row").nth(1)).toContainText("key.revoke");
  await page.getByRole("row").nth(1).getByText("key.revoke").click();
  await expect(page.getByRole("region", { name: "Before and after" })).toContainText("revoked_at");
});

test("a session that is revoked in one browser ends in the other within a second", async ({ page, browser }) => {
  const s = server();
  const other = await browser.newContext({ storageState: await keepSession(s.url, s.adminKey), baseURL: s.url });
  const victim = await other.newPage();
  await victim.goto("/t/demo/jobs");
  await expect(victim.getByRole("button", { name: "Live" })).toBeVisible();
  const me = (await (await other.request.get("/v1/me")).json()) as { session: { id: string } };

  await page.goto("/all/members?tab=sessions");
  await expect(page.getByText("This session")).toHaveCount(1);
  // The newest session is the first: that of the other browser.
  await page.getByRole("button", { name: "Actions on the session of Operator with the admin key" }).first().click();
  await page.getByRole("menuitem", { name: "Revoke session…" }).click();
  const answered = page.waitForResponse((r) => r.request().method() === "DELETE");
  await page.getByRole("button", { name: "Revoke session", exact: true }).click();
  expect((await answered).url()).toContain(me.session.id);
  const revoked = Date.now();
  const call = () => other.request.get("/v1/me").then((r) => r.status());
  while ((await call()) !== 401) expect(Date.now() - revoked, "milliseconds after the revocation").toBeLessThan(1000);
  await expect(victim).toHaveURL(/\/sign-in/); // without a reload: its event stream ended
  await expect(page.getByText("This session")).toHaveCount(1);
  await other.close();
});

test("a tenant is created, changed by two people at once, disabled, enabled and deleted", async ({ page, request }) => {
  const s = server();
  const id = `e2e-${Date.now()}`;
  await page.goto("/all/tenants");
  await page.getByRole("button", { name: "Create tenant…" }).click();
  const form = page.getByRole("dialog", { name: "Create tenant" });
  await form.getByLabel("Name").fill("Not A Name");
  await form.getByRole("button", { name: "Create tenant" }).click();
  await expect(form.getByText(/id .*must|must .*id|name/i).first()).toBeVisible(); // beside the field
  await form.getByLabel("Name").fill(id);
  await form.getByRole("button", { name: "Create tenant" }).click();
  await expect(page).toHaveURL(new RegExp(`/all/tenants/${id}\\?tab=keys`));

  await page.goto(`/all/tenants/${id}`);
  await page.getByRole("button", { name: "Edit settings…" }).click();
  const settings = page.getByRole("dialog", { name: `Settings of ${id}` });
  await settings.getByLabel("Tier").fill("gold");
  const other = await request.patch(`${s.adminURL}/admin/v1/tenants/${id}`, {
    headers: { authorization: `Bearer ${s.adminKey}` },
    data: { weight: 7 },
  });
  expect(other.ok()).toBe(true);
  await settings.getByRole("button", { name: "Save settings" }).click();
  await expect(settings.getByText("Somebody changed this while the form was open.")).toBeVisible();
  await settings.getByRole("button", { name: "Load the new values" }).click();
  await expect(settings.getByLabel("Weight")).toHaveValue("7");
  await settings.getByLabel("Tier").fill("gold");
  await settings.getByRole("button", { name: "Save settings" }).click();
  await expect(settings).toHaveCount(0);
  await expect(page.getByText("Tier gold")).toBeVisible();

  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Disable tenant…" }).click();
  await page.getByRole("button", { name: "Disable tenant" }).click();
  await expect(page.getByText("Disabled", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(page.getByText("Enabled", { exact: true })).toBeVisible();

  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Delete tenant…" }).click();
  const confirm = page.getByRole("dialog", { name: `Delete tenant ${id}?` });
  await expect(confirm.getByRole("button", { name: "Delete tenant" })).toBeDisabled();
  await confirm.getByRole("textbox").fill(id);
  await confirm.getByRole("button", { name: "Delete tenant" }).click();
  await expect(page).toHaveURL(/\/all\/tenants$/);
  await expect(page.getByRole("row").filter({ hasText: id })).toContainText("Disabled"); // it stays listed

  await page.goto(`/all/audit?tenant=${id}`);
  await page.getByRole("button", { name: "Export…" }).click();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export entries" }).click();
  const sheet = readFileSync(await (await download).path(), "utf8");
  for (const action of ["tenant.create", "tenant.delete"]) expect(sheet).toContain(action);
});

test("all other sessions of a person end at once", async ({ page, browser }) => {
  const s = server();
  const others = await Promise.all([1, 2].map(async () => browser.newContext({ storageState: await keepSession(s.url, s.adminKey) })));
  await page.goto("/all/members?tab=sessions");
  const mine = page.getByRole("row").filter({ hasText: "This session" });
  await mine.getByRole("button", { name: /^Actions on the session/ }).click();
  await page.getByRole("menuitem", { name: /other sessions/ }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).not.toContainText("One of them is yours");
  await dialog.getByRole("button", { name: /^Revoke \d+ sessions$/ }).click();
  await expect(dialog).toHaveCount(0);
  for (const context of others) {
    expect((await context.request.get(`${s.url}/v1/me`)).status()).toBe(401);
    await context.close();
  }
  expect((await page.request.get("/v1/me")).status()).toBe(200);
});

test.describe("with a configuration file", () => {
  let started: Started;
  let url = "";

  test.use({ anonymous: true });

  test.beforeAll(async () => {
    url = `http://127.0.0.1:${await freePort()}`;
    started = await serve(url, { tenants: { search: { tier: "production" } } });
  });

  test.afterAll(() => started?.stop());

  test("a reload shows its changes by a dry run; tenants of the file are read-only", async ({ browser }) => {
    const file = join(started.data, "penstock.yaml");
    writeFileSync(file, readFileSync(file, "utf8").replace('"tier":"production"', '"tier":"staging"'));
    const context = await browser.newContext({ storageState: await keepSession(url, adminKey), baseURL: url });
    const page = await context.newPage();
    await page.goto("/all/settings?section=configuration");
    await expect(page.getByText("The file has 1 change that is not in force.")).toBeVisible();
    await page.getByRole("button", { name: "Reload configuration…" }).click();
    const dialog = page.getByRole("dialog", { name: "Reload the configuration?" });
    await expect(dialog).toContainText("1 change by this reload");
    await dialog.getByRole("button", { name: "Reload configuration" }).click();
    await expect(page.getByText("The file is in force.")).toBeVisible();

    await page.goto("/all/tenants/search");
    await expect(page.getByText("Owned by the configuration file")).toBeVisible();
    await expect(page.getByText("Tier staging")).toBeVisible();
    await expect(page.getByRole("button", { name: "Edit settings…" })).toHaveCount(0);
    await context.close();
  });
});
