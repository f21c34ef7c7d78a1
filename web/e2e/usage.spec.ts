import { readFile } from "node:fs/promises";
import { server } from "./server";
import { expect, test } from "./test";

interface Report {
  total: { cost_usd: string; requests: number };
  data: { model: string }[];
}

async function reportOf(query: string): Promise<Report> {
  const s = server();
  const answer = await fetch(`${s.url}/v1/usage${query}`, { headers: { authorization: `Bearer ${s.key}` } });
  return (await answer.json()) as Report;
}

test("totals are those of the API, a drill-down is in the URL, and the CSV is the server's", async ({ page }) => {
  await page.goto("/t/demo/usage?by=model");
  const { total, data } = await reportOf("?group_by=model");
  const grid = page.getByRole("grid", { name: "Usage" });
  await expect(grid.getByRole("row").nth(1)).toContainText("Total");
  await expect(grid.getByRole("row").nth(1)).toContainText(new Intl.NumberFormat("en-US").format(total.requests));
  await expect(page.getByLabel("Totals").getByText("Requests").locator("..")).toContainText(String(total.requests));
  await expect(grid.getByRole("row")).toHaveCount(data.length + 2);

  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export CSV" }).click()]);
  expect(download.suggestedFilename()).toMatch(/^usage-demo-\d{4}-\d\d-01-.*\.csv$/);
  const sheet = await readFile(await download.path(), "utf8");
  expect(sheet.split("\n")[0]).toContain("line,model,requests,");
  expect(sheet.trimEnd().split("\n").at(-1)).toMatch(new RegExp(`^total,,${total.requests},.*,${total.cost_usd.replace(".", "\\.")},`));

  await page.getByRole("button", { name: "Only model sim" }).click();
  await expect(page).toHaveURL(/model=sim/);
  await expect(page).toHaveURL(/by=key/);
  await expect(page.getByRole("columnheader", { name: "Key" })).toBeVisible();
  await page.goBack();
  await expect(page.getByRole("columnheader", { name: "Model" })).toBeVisible();

  await page.goto("/t/demo/usage?model=nothing");
  await page.getByRole("button", { name: "Clear filters" }).click();
  await expect(page).not.toHaveURL(/model=/);
});

test("the view over all tenants groups by tenant", async ({ page }) => {
  await page.goto("/all/usage");
  await page.getByRole("button", { name: "Only tenant demo" }).first().click();
  await expect(page).toHaveURL(/tenant=demo/);
  await expect(page.getByRole("button", { name: "Remove the filter Tenant" })).toBeVisible();
});

test("a forecast runs, is compared with the next, and points to the line of a problem", async ({ page }) => {
  await page.goto("/all/forecast");
  const run = page.getByRole("button", { name: "Run forecast" });
  await run.click();
  await expect(page.getByRole("heading", { name: "Run 1: as it is" })).toBeVisible();
  await page.getByRole("radio", { name: "×2" }).click();
  await run.click();
  await expect(page.getByRole("heading", { name: "Run 2: load ×2" })).toBeVisible();
  await expect(page.getByRole("combobox", { name: "Compared with" }).locator("option:checked")).toHaveText(/Run 1: as it is/);

  const editor = page.getByRole("textbox", { name: "Scenario, as YAML" });
  await editor.fill("duration: 1m\ntargts: {}\n");
  await expect(page).toHaveURL(/scenario=Scenario/);
  await run.click();
  await page.getByRole("button", { name: "Line 2" }).click();
  await expect(page.getByRole("alert")).toContainText("targts");
  await page.reload();
  await expect(editor).toContainText("targts");
});
