import { expect, test } from "./test";

test("the reference lists operations, and Try sends them with the session", async ({ page }) => {
  await page.goto("/t/demo/jobs");
  await expect(page.getByRole("heading", { name: "Jobs" })).toBeVisible();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search or jump to" }).fill("api ref");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/docs$/);
  const list = page.getByRole("navigation", { name: "Operations" });
  await expect.poll(() => list.getByRole("link").count()).toBeGreaterThan(100);

  await page.keyboard.press("/");
  await expect(page.getByLabel("Search operations")).toBeFocused();
  await page.keyboard.type("list models");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/op=getModels/);
  await expect(list.locator("[aria-current]")).toHaveCount(1);
  await expect(list.locator("[aria-current]")).toBeInViewport();
  await page.getByRole("button", { name: "Send call" }).click();
  const answer = page.getByRole("region", { name: "Answer" });
  await expect(answer.getByText("200 OK")).toBeVisible();
  await expect(answer.getByText('"sim"')).toBeVisible();

  await page.goto("/docs?op=postModelExplain&version=2026-12-01");
  await page.getByLabel("model (required)").fill("sim");
  await page.getByRole("button", { name: "Send call…" }).click();
  const dialog = page.getByRole("dialog", { name: "Send this call?" });
  await expect(dialog.getByText("POST /v1/models/sim/explain")).toBeVisible();
  const sent = page.waitForRequest((r) => r.method() === "POST" && r.url().endsWith("/v1/models/sim/explain"));
  await dialog.getByRole("button", { name: "Send call" }).click();
  expect((await sent).headers()["penstock-version"]).toBe("2026-12-01");
  await expect(answer.getByText("200 OK")).toBeVisible();
  await expect(answer.getByText('"model.explanation"')).toBeVisible();
});

test.describe("without a session", () => {
  test.use({ anonymous: true });

  test("the reference reads, and offers to sign in", async ({ page }) => {
    await page.goto("/docs?op=postChatCompletions&lang=python");
    await expect(page.getByRole("heading", { name: "OpenAI chat completion, plain or streamed" })).toBeVisible();
    await expect(page.getByText("from openai import OpenAI")).toBeVisible();
    await expect(page.getByRole("button", { name: /Send call/ })).toHaveCount(0);
    await page.getByRole("link", { name: "Sign in" }).last().click();
    await expect(page).toHaveURL(/\/sign-in\?return_to=\/docs/);
  });
});
