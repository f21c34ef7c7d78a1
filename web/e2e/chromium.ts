import { existsSync } from "node:fs";

/** The Chromium of the system; CHROMIUM names another. */
export function chromiumPath(): string {
  const places = [
    process.env.CHROMIUM,
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/opt/homebrew/bin/chromium",
  ];
  const found = places.find((p) => p && existsSync(p));
  if (!found) throw new Error("Chromium was not found. Run make setup, or set CHROMIUM to its path.");
  return found;
}
