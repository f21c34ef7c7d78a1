import { defineConfig } from "@playwright/test";
import { chromiumPath } from "./e2e/chromium";

// One server (globalSetup) and one browser for each worker.
export default defineConfig({
  testDir: "e2e",
  globalSetup: "./e2e/server.ts",
  workers: Number(process.env.PENSTOCK_E2E_WORKERS ?? 2),
  timeout: 60_000, // bounds for a busy machine, not waits
  expect: { timeout: 15_000 },
  reporter: process.env.CI ? "line" : "list",
  outputDir: "test-results",
  use: {
    viewport: { width: 1440, height: 900 },
    locale: "en-GB",
    timezoneId: "UTC",
    screenshot: "only-on-failure",
    launchOptions: { executablePath: chromiumPath(), args: ["--no-sandbox", "--disable-gpu", "--in-process-gpu"] },
  },
  projects: [
    { name: "tests", testIgnore: /screenshots/ },
    { name: "screenshots", testMatch: /screenshots/ },
    { name: "bench", testMatch: /\.bench\.ts$/ },
  ],
});
