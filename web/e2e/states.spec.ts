import type { Page } from "@playwright/test";
import { server } from "./server";
import { expect, test } from "./test";

/** The pages of a tenant: the last words of their address, the reads that they cannot do without, and the title of their empty state. */
const pages: readonly { path: string; read: string; empty?: string | RegExp }[] = [
  { path: "", read: "/v1/overview" },
  { path: "/jobs", read: "/v1/jobs", empty: "No jobs yet" },
  { path: "/batches", read: "/v1/batches/progress", empty: "No batches yet" },
  { path: "/requests", read: "/v1/requests", empty: "No requests yet" },
  { path: "/files", read: "/v1/files", empty: "No files yet" },
  { path: "/dead-letters", read: "/v1/dead_letters", empty: "No dead letters. Good." },
  { path: "/webhooks", read: "/v1/webhooks", empty: "No endpoints yet" },
  { path: "/usage", read: "/v1/usage", empty: "Nothing was used in this range" },
  { path: "/queues", read: "/v1/load" },
  { path: "/models", read: "/v1/model_definitions" },
  { path: "/keys", read: "/admin/v1/tenants/" },
  { path: "/audit", read: "/admin/v1/audit" },
];

/** The pages over all tenants. */
const overAll: typeof pages = [
  { path: "/all", read: "/admin/v1/overview" },
  { path: "/all/queues", read: "/admin/v1/queues" },
  { path: "/all/models", read: "/admin/v1/targets" },
  { path: "/all/usage", read: "/admin/v1/usage" },
  { path: "/all/audit", read: "/admin/v1/audit" },
  { path: "/all/tenants", read: "/admin/v1/tenants" },
  { path: "/all/members", read: "/admin/v1/members" },
  { path: "/all/settings", read: "/admin/v1/config" },
  { path: "/all/forecast", read: "/admin/v1/forecast/scenario" },
];

const every = [...pages.map((p) => ({ ...p, path: `/t/demo${p.path}` })), ...overAll];

/** Makes a read of the page fail with a status, as long as the returned object says so. */
async function failing(page: Page, read: string, status: number) {
  const fault = { on: true };
  await page.route(
    (u) => u.pathname === read || (read.endsWith("/") && u.pathname.startsWith(read)),
    (route) => {
      if (!fault.on) return route.continue();
      const error = {
        code: status === 403 ? "role_missing" : "internal",
        message: "The disk is on fire.",
        request_id: "req_of_the_test",
        retryable: false,
      };
      return route.fulfill({ status, json: { error } });
    },
  );
  return fault;
}

test("every page says what failed with the id of the request, and Retry brings it back", async ({ page }) => {
  test.setTimeout(120_000);
  for (const { path, read } of every) {
    await test.step(path, async () => {
      const fault = await failing(page, read, 500);
      await page.goto(path);
      const alert = page.getByRole("alert").filter({ hasText: "The disk is on fire." }).first();
      await expect(alert).toBeVisible();
      await expect(alert).toContainText("req_of_the_test");
      fault.on = false;
      await alert.getByRole("button", { name: "Retry" }).click();
      await expect(page.getByRole("alert").filter({ hasText: "The disk is on fire." })).toHaveCount(0);
      await page.unrouteAll();
    });
  }
});

test("every page says who may see it, where the server refuses", async ({ page }) => {
  test.setTimeout(120_000);
  for (const { path, read } of every) {
    await test.step(path, async () => {
      await failing(page, read, 403);
      await page.goto(path);
      await expect(page.getByRole("heading", { name: "You may not see this" }).first()).toBeVisible();
      await page.unrouteAll();
    });
  }
});

test("empty pages teach", async ({ page, request }) => {
  test.setTimeout(120_000);
  const s = server();
  const tenant = `none-${Date.now()}`;
  const headers = { authorization: `Bearer ${s.adminKey}` };
  expect((await request.post(`${s.adminURL}/admin/v1/tenants`, { headers, data: { id: tenant } })).ok()).toBe(true);
  for (const { path, empty } of pages) {
    if (!empty) continue;
    await test.step(path, async () => {
      await page.goto(`/t/${tenant}${path}`);
      await expect(page.getByRole("heading", { name: empty })).toBeVisible();
    });
  }
});
