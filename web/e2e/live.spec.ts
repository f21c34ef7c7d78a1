import { readFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, penstock, type Started } from "./penstock";
import { keepSession } from "./server";
import { allowHosts, expect, test } from "./test";

test.use({ anonymous: true });

let url = "";
let server: Started;
let key = "";
let adminKey = "";

test.beforeAll(async () => {
  url = `http://127.0.0.1:${await freePort()}`;
  server = await penstock({ args: ["dev"], ready: /sign-in#token=\S+\s/, env: { PENSTOCK_LISTEN: new URL(url).host } });
  key = /OPENAI_API_KEY=(\S+)/.exec(server.output())?.[1] ?? "";
  adminKey = readFileSync(join(server.data, "admin-key"), "utf8").trim();
  allowHosts(new URL(url).host);
});

test.afterAll(async () => {
  allowHosts();
  await server?.stop();
});

async function submit(tag: string): Promise<void> {
  const answer = await fetch(`${url}/v1/jobs`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", prefer: "wait=10" },
    body: JSON.stringify({ model: "sim", input: "Hi", tags: { seen: tag } }),
  });
  expect(answer.ok).toBe(true);
}

test("a page follows the server, stops when it is paused, and comes back after a restart without a reload", async ({ browser }) => {
  const context = await browser.newContext({ storageState: await keepSession(url, adminKey) });
  const page = await context.newPage();
  await page.goto(`${url}/t/demo/jobs?columns=tags`);
  await expect(page.getByRole("button", { name: /Live/ })).toBeVisible();
  await page.evaluate(() => {
    (window as Window & { kept?: boolean }).kept = true; // a reload would lose it
  });
  await submit("live");
  await expect(page.getByText("seen=live")).toBeVisible();

  await page.keyboard.press("l");
  await expect(page.getByRole("button", { name: /Paused/ })).toBeVisible();
  await submit("paused");
  await expect(page.getByRole("button", { name: /Paused.*[1-9]/ })).toBeVisible(); // the events of the new job are counted
  await expect(page.getByText("seen=paused")).toHaveCount(0);
  await page.keyboard.press("l");
  await expect(page.getByText("seen=paused")).toBeVisible();

  await page.clock.install();
  await server.pause();
  await page.clock.resume();
  await expect(page.getByRole("button", { name: /Reconnecting/ })).toBeVisible();
  await page.clock.fastForward(11_000);
  await expect(page.getByText("The server does not answer.")).toBeVisible();

  await server.again();
  await submit("restart");
  await page.clock.fastForward(60_000);
  await expect(page.getByText("The server does not answer.")).toHaveCount(0);
  await expect(page.getByRole("button", { name: /Live/ })).toBeVisible();
  await expect(page.getByText("seen=restart")).toBeVisible();
  expect(await page.evaluate(() => (window as Window & { kept?: boolean }).kept)).toBe(true);
  await context.close();
});
