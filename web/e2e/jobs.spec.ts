import { expect, test } from "./test";

test("the list filters by the URL, moves by keyboard, and shows hostile tags as text", async ({ page }) => {
  await page.goto("/t/demo/jobs");
  const rows = page.getByRole("row");
  await expect(rows.nth(1)).toBeVisible();
  const all = await rows.count();

  await page.keyboard.press("/");
  await page.keyboard.type("lane bulk");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/lane=bulk/);
  await expect.poll(() => rows.count()).toBeLessThan(all);
  await page.getByRole("button", { name: "Remove the filter Lane" }).click();
  await expect(page).not.toHaveURL(/lane=bulk/);

  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await expect(page.locator("[role=row][aria-current=true]")).toHaveCount(1);

  await page.goto("/t/demo/jobs?columns=tags");
  await expect(page.getByText('note=<img src=x onerror="alert(1)">')).toBeVisible();

  await page.goto("/t/demo/jobs?tag=env:nowhere");
  await page.getByRole("button", { name: "Clear filters" }).click();
  await expect(page).toHaveURL(/\/jobs$/);
});
