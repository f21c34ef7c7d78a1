import { server } from "./server";
import { expect, test } from "./test";

/** A file whose first lines end one after the other, and whose last lines run until they are cancelled. */
function lines(): string {
  const line = (n: number, latency: string) =>
    JSON.stringify({
      custom_id: `line-${n}`,
      method: "POST",
      url: "/v1/chat/completions",
      body: { model: "sim", messages: [{ role: "user", content: `${n} [sim:latency=${latency}]` }] },
    });
  return [...Array(10).keys()].map((n) => line(n, n < 6 ? `${300 * (n + 1)}ms` : "90s")).join("\n");
}

test("a new batch is tried, submitted, followed live and cancelled", async ({ page }) => {
  await page.goto("/t/demo/batches");
  await page.getByRole("button", { name: "New batch…" }).first().click();
  const form = page.getByRole("dialog", { name: "New batch" });
  await expect(form.getByRole("button", { name: "Submit batch" })).toBeDisabled();
  await form
    .getByLabel("File to upload")
    .setInputFiles({ name: "live.jsonl", mimeType: "application/jsonl", buffer: Buffer.from(lines()) });
  await expect(form.getByRole("combobox", { name: "File" }).locator("option:checked")).toHaveText(/live\.jsonl · 10 lines/);
  await form.getByRole("textbox", { name: "Name" }).fill("<b>live</b>");
  await form.getByRole("button", { name: "Dry run" }).click();
  await expect(form.getByRole("region", { name: "Dry run" })).toContainText("It would be accepted");
  await form.getByRole("button", { name: "Submit batch" }).click();

  // The page was opened before anything ended: the counts move without a reload.
  await expect(page.getByRole("heading", { name: "<b>live</b>" })).toBeVisible();
  const succeeded = page.getByRole("button", { name: /succeeded$/ });
  const count = async () => Number.parseInt((await succeeded.textContent()) ?? "0", 10);
  const first = await count();
  expect(first).toBeLessThan(6);
  await expect.poll(count, { timeout: 10_000 }).toBe(6);
  await expect(page.getByText("partial: the batch still runs")).toBeVisible();

  await page.getByRole("combobox", { name: "Filter" }).fill("line-3");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/custom_id=line-3/);
  await expect(page.getByRole("grid", { name: "Items" }).getByRole("row")).toHaveCount(2);

  await page.getByRole("button", { name: "Cancel batch…" }).click();
  const confirm = page.getByRole("dialog", { name: "Cancel <b>live</b>?" });
  await expect(confirm).toContainText("4 items are still open");
  await confirm.getByRole("button", { name: "Cancel batch" }).click();
  await expect(page.getByRole("button", { name: "4 cancelled" })).toBeVisible({ timeout: 10_000 });
  await expect(page.getByRole("button", { name: "Retry 4 items…" })).toBeVisible();

  await page.getByRole("link", { name: "Batches" }).first().click();
  await expect(page.getByRole("row").filter({ hasText: "<b>live</b>" })).toContainText("Cancelled");
});

test("a refused batch shows its invalid lines", async ({ page, request }) => {
  const s = server();
  const headers = { authorization: `Bearer ${s.key}` };
  const file = { name: "bad.jsonl", mimeType: "application/jsonl", buffer: Buffer.from('{"custom_id":"a"}\n') };
  const uploaded = await request.post(`${s.url}/v1/files`, { headers, multipart: { purpose: "batch", file } });
  const { id } = (await uploaded.json()) as { id: string };
  const data = { input_file_id: id, endpoint: "/v1/chat/completions", completion_window: "24h" };
  const batch = (await (await request.post(`${s.url}/v1/batches`, { headers, data })).json()) as { id: string };
  await page.goto(`/t/demo/batches/${batch.id}`);
  await expect(page.getByText("The batch was refused")).toBeVisible();
  await expect(page.getByText("Line 1")).toBeVisible();
});
