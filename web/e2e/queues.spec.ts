import { withRole } from "./role";
import { server } from "./server";
import { expect, test } from "./test";

/** A call of the admin API with the admin key, beside the page. */
async function admin(path: string, init: RequestInit = {}) {
  const { adminURL, adminKey } = server();
  const response = await fetch(adminURL + path, {
    ...init,
    headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
  });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return response.json();
}

async function paused(): Promise<string[]> {
  const { data } = await admin("/admin/v1/controls");
  return data.map((c: { kind: string; name: string; state: string }) => `${c.kind} ${c.name} ${c.state}`);
}

test.afterEach(async () => {
  for (const subject of ["lane/bulk", "target/sim"]) await admin(`/admin/v1/controls/${subject}`, { method: "DELETE" });
});

test("a paused lane shows its reason as text, resumes, and Undo pauses it again", async ({ page }) => {
  await admin("/admin/v1/controls/lane/bulk", { method: "PUT", body: '{"state":"paused","reason":"<b>before</b>"}' });
  await fetch(`${server().url}/v1/jobs`, {
    method: "POST",
    headers: { authorization: `Bearer ${server().key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "sim", lane: "bulk", input: "Waits" }),
  });
  await page.goto("/all/queues");
  const bulk = page.getByRole("region", { name: "Lane bulk" });
  await expect(bulk.getByText("<b>before</b>")).toBeVisible();
  await expect(bulk.getByText("item waits")).toBeVisible();

  await bulk.getByRole("button", { name: "Resume lane bulk" }).click();
  await expect(page.getByText("Lane bulk is resumed")).toBeVisible();
  expect(await paused()).toEqual([]);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(bulk.getByText("Paused")).toBeVisible();
  expect(await paused()).toEqual(["lane bulk paused"]);

  // Undo leaves alone what another operator paused since.
  await bulk.getByRole("button", { name: "Resume lane bulk" }).click();
  await expect(page.getByText("Lane bulk is resumed")).toBeVisible();
  await admin("/admin/v1/controls/lane/bulk", { method: "PUT", body: '{"state":"draining","reason":"Another operator"}' });
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(page.getByText("Not undone")).toBeVisible();
  await expect(bulk.getByText("Another operator")).toBeVisible();
  expect(await paused()).toEqual([expect.stringMatching(/^lane bulk drain/)]);
});

test("a target drains after a dialog with its effect, and Undo resumes it", async ({ page }) => {
  await page.goto("/all/queues");
  await page.getByRole("button", { name: "Pause target sim…" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByText("no other open target")).toBeVisible();
  await dialog.getByRole("radio", { name: "Drain" }).click();
  await dialog.getByLabel("Reason").fill("Maintenance");
  await dialog.getByRole("button", { name: "Drain target" }).click();
  await expect(page.getByText("Target sim is draining")).toBeVisible();
  const card = page.getByRole("table").filter({ hasText: "Reason" });
  await expect(card.getByRole("row", { name: /sim.*Maintenance/ })).toBeVisible();
  expect(await paused()).toEqual([expect.stringMatching(/^target sim drain/)]);

  await page.getByRole("button", { name: "Undo" }).click();
  await expect(card).toHaveCount(0);
  expect(await paused()).toEqual([]);
});

test("a tenant sees its own lanes, and processes show their slots", async ({ page }) => {
  await page.goto("/t/demo/queues");
  await expect(page.getByRole("region", { name: "Lane realtime" }).getByText("items wait")).toBeVisible();
  await page.getByRole("link", { name: "Queues & workers of all tenants" }).click();
  await expect(page).toHaveURL(/\/all\/queues$/);
  await expect(page.getByRole("row", { name: /local.*Works/ })).toContainText("/ 64");
  await page.getByRole("radio", { name: "realtime" }).click();
  await expect(page).toHaveURL(/lane=realtime/);
});

test("a viewer sees the pauses, has no buttons, and the API refuses", async ({ browser }) => {
  const { url, state, stop } = await withRole("viewer");
  const context = await browser.newContext({ baseURL: url, storageState: state });
  try {
    const page = await context.newPage();
    await page.goto("/all/queues");
    await expect(page.getByRole("region", { name: "Lane bulk" })).toBeVisible();
    await expect(page.getByRole("row", { name: /main/ })).toBeVisible();
    await expect(page.getByRole("button", { name: /Pause|Resume/ })).toHaveCount(0);
    const me = await (await context.request.get("/v1/me")).json();
    const refused = await context.request.put("/admin/v1/controls/lane/bulk", {
      headers: { "x-penstock-csrf": me.csrf, origin: url },
      data: { state: "paused" },
    });
    expect(refused.status()).toBe(403);
  } finally {
    await context.close();
    await stop();
  }
});
