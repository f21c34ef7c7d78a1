import { test as base, expect, type Page } from "@playwright/test";
import axe from "axe-core";
import { server } from "./server";

const allowed = new Set<string>();

/** Allows requests to these other hosts, of servers that a test starts itself, and to no more. */
export function allowHosts(...hosts: string[]): void {
  allowed.clear();
  for (const host of hosts) allowed.add(host);
}

/**
 * The test of every page. At its end it fails if the page broke the Content-Security-Policy, threw an error, or asked another host.
 * `anonymous` tests start without a session.
 */
export const test = base.extend<{ anonymous: boolean; watched: undefined }>({
  anonymous: [false, { option: true }],
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of the fixtures from the pattern.
  baseURL: async ({}, use) => use(server().url),
  storageState: async ({ anonymous }, use) => use(anonymous ? undefined : server().state),
  watched: [
    async ({ context }, use) => {
      const problems: string[] = [];
      const host = new URL(server().url).host;
      context.on("request", (r) => {
        const { protocol, host: asked } = new URL(r.url());
        if (protocol.startsWith("http") && asked !== host && !allowed.has(asked)) problems.push(`request to another host: ${r.url()}`);
      });
      context.on("console", (m) => {
        if (/content security policy/i.test(m.text())) problems.push(m.text());
      });
      context.on("weberror", (e) => problems.push(`error in the page: ${e.error().message}`));
      await use(undefined);
      expect(problems).toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };

/**
 * Fails for every violation that axe finds on the page. `contrast` looks at the colours only, which is all that a theme changes;
 * `structure` leaves them out.
 */
export async function expectAccessible(page: Page, part?: "contrast" | "structure"): Promise<void> {
  const loaded = await page.evaluate(() => "axe" in window);
  if (!loaded) await page.evaluate(axe.source); // the protocol of the browser runs it, so the CSP stays as it is
  const result = await page.evaluate(
    (what) =>
      window.axe.run(document, {
        resultTypes: ["violations"],
        iframes: false,
        preload: false,
        ...(what === "contrast" ? { runOnly: ["color-contrast"] } : {}),
        ...(what === "structure" ? { rules: { "color-contrast": { enabled: false } } } : {}),
      }),
    part,
  );
  const found = result.violations.map(
    (v) => `${v.id}: ${v.help}\n${v.nodes.map((n) => `    ${n.html.slice(0, 200)}\n    ${n.failureSummary ?? ""}`).join("\n")}`,
  );
  expect(found, found.join("\n")).toEqual([]);
}

/** Chooses a theme for the page and those after it. */
export async function setTheme(page: Page, theme: "light" | "dark"): Promise<void> {
  await page.addInitScript((value) => {
    const key = "penstock.preferences";
    localStorage.setItem(key, JSON.stringify({ ...JSON.parse(localStorage.getItem(key) ?? "{}"), theme: value }));
  }, theme);
}

declare global {
  interface Window {
    axe: typeof axe;
  }
}
