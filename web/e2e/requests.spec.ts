import { server } from "./server";
import { expect, test } from "./test";

const hostile = '<img src=x onerror="alert(1)">';

/** Makes a call as an application does, and waits until the log has it. */
async function call(content: string, headers: Record<string, string> = {}): Promise<string> {
  const s = server();
  const auth = { authorization: `Bearer ${s.key}` };
  const answer = await fetch(`${s.url}/v1/chat/completions`, {
    method: "POST",
    headers: { ...auth, "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "sim", messages: [{ role: "user", content }] }),
  });
  const id = answer.headers.get("x-request-id") ?? "";
  await expect.poll(async () => (await fetch(`${s.url}/v1/requests/${id}`, { headers: auth })).status).toBe(200);
  return id;
}

test("requests filter by the URL, peek and open, and show hostile tags and subjects as text", async ({ page }) => {
  const run = `case:${Date.now()}`; // rows of an earlier run stay on the server
  const tags = `${run},note:${encodeURIComponent(hostile)}`;
  const good = await call("Hello", { "x-penstock-tags": tags, "x-penstock-subject": hostile });
  const bad = await call("[sim:fault=bad_request]", { "x-penstock-tags": run });

  await page.goto(`/t/demo/requests?tag=${run}&columns=id,tags,subject`);
  await expect(page.getByRole("row")).toHaveCount(3);
  await expect(page.getByText(`note=${hostile}`)).toBeVisible();
  await page.keyboard.press("/");
  await expect(page.getByRole("combobox", { name: "Filter" })).toBeFocused();
  await page.keyboard.type("status failed");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/status=failed/);
  await expect(page.getByRole("row")).toHaveCount(2);

  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.keyboard.press("Space");
  const peek = page.getByRole("complementary", { name: "Request" });
  await expect(peek.getByText("Chosen:")).toBeVisible();
  await expect(page).toHaveURL(new RegExp(`row=${bad}`));
  await page.keyboard.press("Escape");
  await expect(peek).toHaveCount(0);

  await page.goto("/t/demo/requests?model=nothing");
  await page.getByRole("button", { name: "Clear filters" }).click();
  await expect(page).toHaveURL(/\/requests$/);

  await page.goto(`/t/demo/requests/${good}`);
  await expect(page.getByText("Attempt 1")).toBeVisible();
  await expect(page.getByText(hostile, { exact: true })).toBeVisible();
  await expect(page.locator("img")).toHaveCount(0);
  await page.getByRole("button", { name: "Explain this route now…" }).click();
  await expect(page.getByRole("dialog").getByText("sim would be called")).toBeVisible();
});
