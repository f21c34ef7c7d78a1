import { server } from "./server";
import { expect, test } from "./test";

function control(method: "PUT" | "DELETE") {
  const { adminURL, adminKey } = server();
  return fetch(`${adminURL}/admin/v1/controls/target/sim`, {
    method,
    headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
    ...(method === "PUT" ? { body: '{"state":"paused"}' } : {}),
  });
}

test("explain shows why a target is skipped, and runs again as a person types", async ({ page }) => {
  await control("PUT");
  try {
    await page.goto("/t/demo/models");
    await page.getByRole("link", { name: "sim", exact: true }).click();
    await expect(page).toHaveURL(/\/t\/demo\/models\/sim$/);
    await expect(page.getByText("No target would be called")).toBeVisible();
    await expect(page.getByRole("listitem", { name: "sim" })).toContainText("It was paused by an operator.");
  } finally {
    await control("DELETE");
  }
  await page.getByLabel("Message").fill("Another text");
  await expect(page.getByText("sim would be called")).toBeVisible();
  await expect(page.getByRole("listitem", { name: "sim" })).toContainText("Chosen");
  await page.getByRole("checkbox", { name: "Tools" }).click();
  await expect(page).toHaveURL(/needs=tools/);
  await page.getByRole("radio", { name: "Number of tokens" }).click();
  await page.getByLabel("Input tokens").fill("20000");
  await expect(page).toHaveURL(/tokens=20000/);
  await expect(page.getByText("Cost of such a call")).toBeVisible();
});

test("the catalogue searches by name and vendor", async ({ page }) => {
  await page.goto("/t/demo/models?tab=catalogue");
  await expect(page.getByText(/per million tokens, as of/)).toBeVisible();
  await page.keyboard.press("/");
  await page.keyboard.type("sonnet");
  await expect(page).toHaveURL(/search=sonnet/);
  const rows = page.getByRole("row");
  await expect(rows.nth(1)).toContainText("sonnet");
  await page.getByRole("combobox", { name: "Vendor" }).selectOption("bedrock");
  await expect(page).toHaveURL(/vendor=bedrock/);
  await expect(rows.nth(1)).toContainText("bedrock");
  await page.getByRole("searchbox").fill("no such model");
  await page.getByRole("button", { name: "Clear filters" }).click();
  await expect(page).toHaveURL(/\?tab=catalogue$/);
});
