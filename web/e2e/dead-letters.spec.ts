import { server } from "./server";
import { expect, test } from "./test";

/** Jobs that fail once: their retry succeeds. */
async function failOnce(texts: string[]): Promise<void> {
  const { url, key } = server();
  await Promise.all(
    texts.map(async (text) => {
      const answer = await fetch(`${url}/v1/jobs`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json", prefer: "wait=10" },
        body: JSON.stringify({ model: "sim", input: `${text} [sim:fault=content_filter times=1]` }),
      });
      expect(answer.ok).toBe(true);
    }),
  );
}

test("a group is retried by keyboard, after a dry run with count and cost", async ({ page }) => {
  await failOnce(["dead one", "dead two", "dead three"]);
  await page.goto("/t/demo");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.keyboard.press("g");
  await page.keyboard.press("d");
  await expect(page).toHaveURL(/\/dead-letters$/);
  await expect(page.getByRole("row", { name: /content_blocked/ })).toBeVisible();

  await page.keyboard.press("/");
  await page.keyboard.type("error content_bl");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/code=content_blocked/);
  await expect(page.getByRole("row")).toHaveCount(2);
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.keyboard.press("Space");
  await expect(page).toHaveURL(/group=content_blocked/);
  await page.keyboard.press("x");
  await expect(page.getByText("1 selected")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByText("1 selected")).toHaveCount(0);
  await page.keyboard.press("x");

  await page.getByRole("region", { name: "Actions on the selection" }).getByRole("button", { name: "Retry…" }).press("Enter");
  const dialog = page.getByRole("dialog", { name: "Retry 1 group" });
  await expect(dialog).toContainText(/3 items in 3 new jobs, at most \$/);
  await dialog.getByRole("button", { name: "Retry 3 items" }).press("Enter");
  const done = page.getByRole("dialog", { name: "3 items submitted again" });
  await expect(done.getByText("Succeeded")).toHaveCount(3);
  await done.getByRole("button", { name: "Close", exact: true }).last().press("Enter");
  await expect(page.getByText("No dead letters match the filters.")).toBeVisible();
});

test("inputs are hidden until shown, and chosen items are dismissed after a count", async ({ page }) => {
  await failOnce(["alpha", "beta"]);
  const asked: string[] = [];
  page.on("request", (r) => {
    if (r.url().endsWith("/input")) asked.push(r.url());
  });
  await page.goto("/t/demo/dead-letters?code=content_blocked");
  await expect(page.getByRole("list", { name: "Attempts" })).toContainText("content_blocked");
  expect(asked).toEqual([]);
  await page.getByRole("button", { name: "Show the difference" }).click();
  const diff = page.getByRole("region", { name: "Difference of the inputs" });
  await expect(diff).toContainText("alpha");
  await expect(diff).toContainText("beta");
  expect(asked).toHaveLength(2);

  await page
    .getByRole("checkbox", { name: /^Choose item_/ })
    .first()
    .click();
  await page.getByRole("complementary", { name: "Group" }).getByRole("button", { name: "Dismiss…" }).click();
  await expect(page.getByRole("dialog")).toContainText("1 dead letter leaves this list.");
  await page.getByRole("button", { name: "Dismiss 1 item" }).click();
  await expect(page.getByText("1 item in 1 group")).toBeVisible();
});
