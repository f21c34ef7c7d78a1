import { server } from "./server";
import { expect, test } from "./test";

test.describe("sign-in", () => {
  test.use({ anonymous: true });

  test("by the link of penstock dev, once", async ({ page, context }) => {
    await page.goto("/t/demo/jobs?status=failed");
    await expect(page).toHaveURL(/\/sign-in\?return_to=/);
    await page.goto(`/sign-in?return_to=/t/demo/jobs#token=${server().link}`);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await expect(page).toHaveURL(/\/t\/demo\/jobs$/);
    await expect(page.getByRole("heading", { name: "Jobs" })).toBeVisible();
    const cookie = (await context.cookies()).find((c) => c.name.includes("penstock_session"));
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Lax", path: "/" });

    await page.getByRole("button", { name: /^Account of/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await expect(page).toHaveURL(/\/sign-in/);
    await page.goto(`/sign-in#token=${server().link}`);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await expect(page.getByRole("alert")).toBeVisible();
  });

  test("with a wrong key says so", async ({ page }) => {
    await page.goto("/sign-in");
    await page.getByLabel("Operator key").fill("psk_wrong_4fgk2vldrbrrg63bvfij6hg2r46xqajv");
    await page.getByRole("button", { name: "Sign in with the key" }).click();
    await expect(page.getByRole("alert")).toBeVisible();
    await expect(page).toHaveURL(/\/sign-in/);
  });
});

test("palette, shortcuts, sidebar and theme", async ({ page }) => {
  await page.goto("/t/demo");
  await expect(page.getByRole("heading", { name: "Home" })).toBeVisible();
  await page.keyboard.press("g");
  await page.keyboard.press("j");
  await expect(page).toHaveURL(/\/t\/demo\/jobs$/);

  await page.keyboard.press("Control+k");
  await page.keyboard.type("hom");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/t\/demo$/);
  await expect(page.getByRole("dialog")).toHaveCount(0);

  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Shortcuts" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);

  await page.keyboard.press("[");
  await expect(page.getByRole("link", { name: "Jobs" })).toHaveCSS("width", "36px");
  await page.keyboard.press("[");

  await page.getByRole("button", { name: /^Account of/ }).click();
  await page.getByRole("menuitemradio", { name: "Dark" }).click();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
});

test("on a phone the pages are in a drawer", async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto("/t/demo");
  await expect(page.getByRole("link", { name: "Jobs" })).toHaveCount(0);
  await page.getByRole("button", { name: "Open the pages" }).click();
  await page.getByRole("link", { name: "Jobs" }).click();
  await expect(page).toHaveURL(/\/t\/demo\/jobs$/);
  await expect(page.getByRole("dialog")).toHaveCount(0);
});
