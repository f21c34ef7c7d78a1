import { expect, test } from "./test";

const name = "<img src=x onerror=alert(1)>.jsonl"; // without quotes, which browsers escape in the names of a form
const line = '{"custom_id":"a","body":{"model":"sim","messages":[{"role":"user","content":"Hi"}]}}\n';

test("a file with a hostile name is uploaded, read and deleted", async ({ page }) => {
  await page.goto("/t/demo/files");
  await page.getByRole("button", { name: "Upload files…" }).click();
  await page.getByLabel("Files to upload").setInputFiles({ name, mimeType: "application/jsonl", buffer: Buffer.from(`${line}not JSON\n`) });
  await page.getByRole("button", { name: "Upload 1 file" }).click();
  await expect(page.getByText("1 invalid line: a batch over this file is refused.")).toBeVisible();
  await page.getByRole("link", { name: "Show" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();

  await expect(page).toHaveURL(/\/files\/file_/);
  const pane = page.getByRole("complementary", { name: "File" });
  await expect(pane.getByText(name)).toBeVisible();
  await expect(pane.getByText("Line 2")).toBeVisible();
  await expect(page.locator("img")).toHaveCount(0);
  const download = page.waitForEvent("download");
  await pane.getByRole("button", { name: "Download file" }).click();
  expect((await download).suggestedFilename()).toContain(".jsonl");

  await pane.getByRole("button", { name: "Delete file…" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete this file?" });
  await expect(dialog.getByText("This cannot be undone.")).toBeVisible();
  await dialog.getByRole("button", { name: "Delete file" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(page).toHaveURL(/\/files$/);
  await expect(page.getByRole("row").filter({ hasText: name })).toHaveCount(0);
});
