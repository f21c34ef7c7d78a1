import { server } from "./server";
import { expect, test } from "./test";

const json = (key: string) => ({ authorization: `Bearer ${key}`, "content-type": "application/json" });

test("an empty tenant shows three commands, and its figures after the first call", async ({ page, request }) => {
  const s = server();
  const admin = { headers: json(s.adminKey) };
  const tenant = `empty-${Date.now()}`;
  expect((await request.post(`${s.adminURL}/admin/v1/tenants`, { ...admin, data: { id: tenant } })).ok()).toBe(true);
  const made = await request.post(`${s.adminURL}/admin/v1/keys`, { ...admin, data: { tenant, name: "first" } });
  const { secret } = (await made.json()) as { secret: string };

  await page.goto(`/t/${tenant}`);
  const steps = page.getByRole("listitem").filter({ has: page.getByRole("heading", { level: 3 }) });
  await expect(steps).toHaveCount(3);
  await expect(steps.first()).toContainText(`${s.url}/v1/chat/completions`);
  await expect(page.getByText("Traffic by lane")).toHaveCount(0);

  const call = { model: "sim", messages: [{ role: "user", content: "Hi" }] };
  expect((await request.post(`${s.url}/v1/chat/completions`, { headers: json(secret), data: call })).ok()).toBe(true);
  await expect(page.getByText("Traffic by lane")).toBeVisible({ timeout: 30_000 });
  // Targets are those of all tenants, and other tests make them fail; dead letters would be of this tenant.
  const needs = page.locator("section", { has: page.getByRole("heading", { name: "Needs you" }) });
  await expect(needs).toBeVisible();
  await expect(needs.getByText(/dead letter/)).toHaveCount(0);
});

test("dead letters need you, on Home and beside their page", async ({ page }) => {
  await page.goto("/t/demo");
  const needs = page.locator("section", { has: page.getByRole("heading", { name: "Needs you" }) });
  await expect(needs.getByText(/^\d+ dead letters? in \d+ groups?$/)).toBeVisible();
  await expect(page.getByRole("link", { name: /^Dead letters/ })).toHaveText(/Dead letters\s*\d+/);
  await needs.getByRole("link", { name: /^Retry: / }).click();
  await expect(page).toHaveURL(/\/dead-letters$/);
  await page.goBack();
  await page.getByRole("radio", { name: "Last hour" }).click();
  await expect(page).toHaveURL(/window=hour/);
  await page.getByRole("button", { name: "Show the numbers" }).click();
  await expect(page.getByRole("columnheader", { name: "realtime" })).toBeVisible();
  await page.goto("/all");
  await expect(page.getByRole("link", { name: "demo", exact: true }).first()).toBeVisible();
});
