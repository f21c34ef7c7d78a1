import { defineConfig } from "@playwright/test";
import { chromiumPath } from "./e2e/chromium";

// One server (globalSetup) and one browser for all tests.
export default defineConfig({
  testDir: "e2e",
  globalSetup: "./e2e/server.ts",
  workers: 1,
  timeout: 20_000,
  expect: { timeout: 5_000 },
  reporter: process.env.CI ? "line" : "list",
  outputDir: "test-results",
  use: {
    viewport: { width: 1440, height: 900 },
    locale: "en-GB",
    timezoneId: "UTC",
    screenshot: "only-on-failure",
    launchOptions: { executablePath: chromiumPath(), args: ["--no-sandbox"] },
  },
  projects: [
    { name: "tests", testIgnore: /screenshots/ },
    { name: "screenshots", testMatch: /screenshots/ },
  ],
});
