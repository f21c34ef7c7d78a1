import type { Page } from "@playwright/test";
import { pathOf, type Route, routes } from "./routes";
import { expect, expectAccessible, setTheme, test } from "./test";

test.describe.configure({ mode: "parallel" });

/** Opens a page in light, then dark, then on a phone. */
async function look(page: Page, route: Route): Promise<void> {
  const shown = page.getByText(route.shows).filter({ visible: true }).first();
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto(await pathOf(route));
  await expect(shown).toBeVisible();
  await expectAccessible(page);
  await page.evaluate(() => {
    document.documentElement.dataset.theme = "dark";
  });
  await expectAccessible(page, "contrast");
  await page.setViewportSize({ width: 390, height: 844 });
  await expect(shown).toBeVisible();
  const width = () => page.evaluate(() => document.documentElement.scrollWidth);
  await expect.poll(width, { message: "the page must not scroll sideways" }).toBeLessThanOrEqual(390); // charts follow the new width
  await expectAccessible(page, "structure");
}

// Several pages in one browser context: its cache has their scripts.
const size = 8;
for (const anonymous of [true, false]) {
  const some = routes.filter((r) => Boolean(r.anonymous) === anonymous);
  for (let i = 0; i < some.length; i += size) {
    const group = some.slice(i, i + size);
    test.describe(() => {
      test.use({ anonymous });
      test(`no violation of axe, light and dark, and fit 390 px: ${group.map((r) => r.name).join(", ")}`, async ({ page }) => {
        test.setTimeout(120_000);
        await page.emulateMedia({ reducedMotion: "reduce" }); // colours that fade have no contrast of their own
        await setTheme(page, "light");
        for (const route of group) await test.step(route.name, () => look(page, route));
      });
    });
  }
}
