import { server } from "./server";
import { expect, test } from "./test";

async function firstJob(): Promise<string> {
  const { url, key } = server();
  const answer = await fetch(`${url}/v1/jobs?limit=1`, { headers: { authorization: `Bearer ${key}` } });
  const page = (await answer.json()) as { data: { id: string }[] };
  return page.data[0]?.id ?? "";
}

test("the palette opens a job by its id, and says where an id is not known", async ({ page }) => {
  const job = await firstJob();
  await page.goto("/t/demo/dead-letters");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.keyboard.press("Control+k");
  const field = page.getByRole("combobox", { name: "Search or jump to" });
  await expect(field).toBeVisible(); // its script loads when it is first opened
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Shortcuts" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await page.keyboard.press("Control+k");
  await field.fill("job_01AAAAAAAAAAAAAAAAAAAAAAAA");
  await expect(page.getByText("Nothing in demo has this id")).toBeVisible();
  await field.fill(job);
  await expect(page.getByRole("option", { name: `Open job ${job}` })).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/t/demo/jobs/${job}$`));
  await expect(page.getByRole("dialog")).toHaveCount(0);
});

test("navigation focuses the heading and names the document; g wins over the keys of a list", async ({ page }) => {
  await page.goto("/t/demo/dead-letters");
  await expect(page.getByRole("row").nth(1)).toBeVisible();
  await page.keyboard.press("j");
  await page.keyboard.press("g");
  await page.keyboard.press("j");
  await expect(page).toHaveURL(/\/t\/demo\/jobs$/);
  await expect(page.getByRole("heading", { level: 1, name: "Jobs" })).toBeFocused();
  await expect(page).toHaveTitle("Jobs · demo · Penstock");

  await page.keyboard.press("Control+k");
  await page.keyboard.type("webh");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1, name: "Webhooks" })).toBeFocused();
});

test("a session that ended leads to the sign-in and back to the same address", async ({ page, context }) => {
  await page.goto("/t/demo/dead-letters?code=upstream_rejected");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await context.clearCookies();
  await page.keyboard.press("l");
  await page.keyboard.press("l"); // reads everything again
  await expect(page).toHaveURL(/\/sign-in\?return_to=/);
  await page.getByLabel("Operator key").fill(server().adminKey);
  await page.getByRole("button", { name: "Sign in with the key" }).click();
  await expect(page).toHaveURL(/\/t\/demo\/dead-letters\?code=upstream_rejected$/);
});

test("the page says when it is stale, and recovers", async ({ page }) => {
  await page.clock.install();
  let away = true;
  await page.route("**/v1/live*", (route) => (away ? route.abort() : route.continue()));
  await page.goto("/t/demo/jobs");
  await expect(page.getByRole("button", { name: "Reconnecting" })).toBeVisible();
  await page.clock.pauseAt(Date.now() + 12_000); // from here on the page does not try by itself
  await expect(page.getByText("The server does not answer.")).toBeVisible();
  away = false;
  const again = page.waitForResponse((r) => new URL(r.url()).pathname === "/v1/live");
  await page.getByRole("button", { name: "Connect now" }).click();
  await again;
  await page.clock.resume();
  await expect(page.getByText("The server does not answer.")).toHaveCount(0);
  await expect(page.getByRole("button", { name: "Live" })).toBeVisible();
});

test("a script that is gone after an upgrade says so, and Retry reloads the page", async ({ page }) => {
  await page.goto("/t/demo/dead-letters");
  await expect(page.getByRole("button", { name: "Retry all…" })).toBeVisible();
  let gone = true;
  await page.route("**/assets/RetryDialog-*.js", (route) => (gone ? route.fulfill({ status: 404, body: "" }) : route.continue()));
  await page.getByRole("button", { name: "Retry all…" }).click();
  const alert = page.getByRole("alert");
  await expect(alert).toContainText("may have been upgraded");
  gone = false;
  await alert.getByRole("button", { name: "Retry" }).click();
  await page.getByRole("button", { name: "Retry all…" }).click();
  await expect(page.getByRole("dialog")).toContainText("Dry run of the server");
});
