import { copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { freePort, penstock, type Started } from "./penstock";
import { adminKey, benchConfig } from "./serve";
import { keepSession } from "./server";
import { allowHosts, expect, test } from "./test";

// Figures of the list of jobs over the database that bench/lists fills. `make bench` runs this; PENSTOCK_BENCH_DATA names the directory.
const data = process.env.PENSTOCK_BENCH_DATA ?? "";
const tenant = process.env.PENSTOCK_BENCH_TENANT ?? "busy";
const samples = 10;

let url = "";
let server: Started;

test.use({ anonymous: true });
test.setTimeout(300_000);

test.beforeAll(async () => {
  test.skip(data === "", "PENSTOCK_BENCH_DATA is not set");
  const key = join(data, "keyset.json"); // the server's name of the file
  if (!existsSync(key)) copyFileSync(join(data, "sqlite-keyset.json"), key);
  url = `http://127.0.0.1:${await freePort()}`;
  const env = { PENSTOCK_LISTEN: new URL(url).host, PENSTOCK_DATA: data, E2E_ADMIN_KEY: adminKey };
  server = await penstock({ args: ["serve"], ready: /serving/, patienceMs: 120_000, env, config: benchConfig(tenant) });
  allowHosts(new URL(url).host);
});

test.afterAll(async () => {
  allowHosts();
  await server?.stop();
});

function median(all: number[]): number {
  const sorted = all.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** Opens the list in a new browser context, with empty caches. */
async function load(page: Page): Promise<{ paint: number; list: number; bytes: number }> {
  const began = Date.now();
  await page.goto(`${url}/t/${tenant}/jobs`, { waitUntil: "commit" });
  await expect(page.getByRole("row").nth(5)).toBeVisible();
  const list = Date.now() - began;
  const [paint, bytes] = await page.evaluate(() => {
    const first = performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0;
    const all = performance.getEntries().filter((e) => e instanceof PerformanceResourceTiming);
    return [first, all.reduce((sum, e) => sum + e.transferSize, 0)] as const;
  });
  return { paint, list, bytes };
}

/** From a filter in the address to the rows that match it. */
async function filter(page: Page, status: string): Promise<number> {
  const answered = page.waitForResponse((r) => r.url().includes("/v1/jobs?") && r.url().includes(`status=${status}`));
  await page.keyboard.press("/");
  await page.keyboard.type(`status ${status}`);
  const began = Date.now();
  await page.keyboard.press("Enter");
  await answered;
  await expect(page.getByRole("row").nth(1)).toContainText(new RegExp(status, "i"));
  const took = Date.now() - began;
  await page.keyboard.press("Escape");
  await page.goto(`${url}/t/${tenant}/jobs`);
  await expect(page.getByRole("row").nth(5)).toBeVisible();
  return took;
}

/** The longest time between two frames while the list scrolls 40 screens. */
async function scroll(page: Page): Promise<number> {
  const list = page.getByRole("row").nth(5);
  await list.hover();
  const worst = page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        let last = performance.now();
        let longest = 0;
        const end = last + 3000;
        const frame = (now: number) => {
          longest = Math.max(longest, now - last);
          last = now;
          if (now < end) requestAnimationFrame(frame);
          else resolve(longest);
        };
        requestAnimationFrame(frame);
      }),
  );
  for (let i = 0; i < 40; i++) await page.mouse.wheel(0, 900);
  return worst;
}

test("the list of jobs over a million jobs", async ({ browser }) => {
  const state = await keepSession(url, adminKey);
  const loads = [];
  for (let i = 0; i < samples; i++) {
    const context = await browser.newContext({ storageState: state });
    loads.push(await load(await context.newPage()));
    await context.close();
  }
  const context = await browser.newContext({ storageState: state });
  const page = await context.newPage();
  await load(page);
  const filters = [];
  for (let i = 0; i < samples; i++) filters.push(await filter(page, i % 2 ? "succeeded" : "failed"));
  const longest = await scroll(page);
  await context.close();

  const rows: [string, number, number, string][] = [
    ["first contentful paint, median", median(loads.map((l) => l.paint)), 1000, "ms"],
    ["rows of the list are there, median", median(loads.map((l) => l.list)), 2000, "ms"],
    ["a filter shows its rows, median", median(filters), 500, "ms"],
    ["longest frame while scrolling", longest, 200, "ms"],
    ["transferred with empty caches", median(loads.map((l) => l.bytes)) / 1000, 450, "kB"],
  ];
  for (const [name, value, most, unit] of rows) {
    const verdict = value <= most ? "met" : "MISSED";
    process.stdout.write(`  console: ${name.padEnd(38)} ${value.toFixed(0).padStart(6)} ${unit}  target ${most} ${unit}  ${verdict}\n`);
  }
  expect(
    rows.filter(([, value]) => !(value > 0)).map(([name]) => name),
    "figures that were not measured",
  ).toEqual([]);
});
