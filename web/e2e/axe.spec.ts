import { pathOf, routes } from "./routes";
import { expect, expectAccessible, setTheme, test } from "./test";

test.describe.configure({ mode: "parallel" });

for (const route of routes) {
  test.describe(() => {
    test.use({ anonymous: route.anonymous ?? false });
    test(`${route.name} has no violation of axe, light and dark, and fits 390 px`, async ({ page }) => {
      await page.emulateMedia({ reducedMotion: "reduce" }); // colours that fade have no contrast of their own
      await setTheme(page, "light");
      await page.goto(await pathOf(route));
      await expect(page.getByText(route.shows).filter({ visible: true }).first()).toBeVisible();
      await expectAccessible(page);
      await page.evaluate(() => {
        document.documentElement.dataset.theme = "dark";
      });
      await expectAccessible(page);
      await page.setViewportSize({ width: 390, height: 844 });
      await expect(page.getByText(route.shows).filter({ visible: true }).first()).toBeVisible();
      const width = () => page.evaluate(() => document.documentElement.scrollWidth);
      await expect.poll(width, { message: "the page must not scroll sideways" }).toBeLessThanOrEqual(390); // charts follow the new width
      await expectAccessible(page);
    });
  });
}
