import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathOf, routes } from "./routes";
import { server } from "./server";
import { expect, setTheme, test } from "./test";

const folder = join(import.meta.dirname, "../screenshots");
mkdirSync(folder, { recursive: true });

test.describe.configure({ mode: "parallel" });

for (const route of routes) {
  for (const theme of ["light", "dark"] as const) {
    test.describe(() => {
      test.use({ anonymous: route.anonymous ?? false, deviceScaleFactor: theme === "light" ? 1.5 : 1 });
      test(`${route.name} ${theme}`, async ({ page }) => {
        await setTheme(page, theme);
        const path = await pathOf(route);
        const ofDemo = path
          .replaceAll(/(\/t\/|\/tenants\/)demo\b/g, `$1${server().tenant}`)
          .replace(/\/models\/sim$/, "/models/mistral-small");
        await page.goto(ofDemo);
        await expect(page.locator("h1").first()).toBeVisible();
        await expect(page.locator("[aria-busy=true]")).toHaveCount(0);
        await page.evaluate(() => document.fonts.ready);
        await page.waitForTimeout(1500); // charts and late panels
        await page.screenshot({ path: join(folder, `${route.name}-${theme}.png`) });
        if (theme === "dark") return;
        await page.setViewportSize({ width: 390, height: 844 });
        await page.waitForTimeout(300); // charts follow the new width
        await page.screenshot({ path: join(folder, `${route.name}-390.png`) });
      });
    });
  }
}
