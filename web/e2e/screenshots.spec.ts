import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathOf, routes } from "./routes";
import { expect, setTheme, test } from "./test";

const folder = join(import.meta.dirname, "../screenshots");
mkdirSync(folder, { recursive: true });

for (const route of routes) {
  for (const theme of ["light", "dark"] as const) {
    test.describe(() => {
      test.use({ anonymous: route.anonymous ?? false, deviceScaleFactor: 2 });
      test(`${route.name} ${theme}`, async ({ page }) => {
        await setTheme(page, theme);
        await page.goto(await pathOf(route));
        await expect(page.getByText(route.shows).filter({ visible: true }).first()).toBeVisible();
        await page.evaluate(() => document.fonts.ready);
        await page.waitForTimeout(400); // charts and late panels
        await page.screenshot({ path: join(folder, `${route.name}-${theme}.png`) });
        if (theme === "dark") return;
        await page.setViewportSize({ width: 390, height: 844 });
        await page.waitForTimeout(200);
        await page.screenshot({ path: join(folder, `${route.name}-390.png`) });
      });
    });
  }
}
