import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

// The server that `npm run dev` passes API calls to.
const server = process.env.PENSTOCK_URL ?? "http://127.0.0.1:8080";
const engines = ["chrome123", "firefox120", "safari17.5"]; // the first with light-dark()

// The server writes a <base href> into the index; the development server needs one too, for pages below the root.
const devBase: Plugin = {
  name: "dev-base",
  apply: "serve",
  transformIndexHtml: () => [{ tag: "base", attrs: { href: "/" }, injectTo: "head-prepend" }],
};

export default defineConfig({
  // Relative: the index has a <base href> with the base path of the server.
  base: "./",
  plugins: [devBase, react(), tailwindcss()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    target: engines,
    cssTarget: engines,
    assetsInlineLimit: 0, // data: URLs of fonts and scripts would need an exception in the CSP
    modulePreload: { polyfill: false },
    license: { fileName: "LICENSES.md" },
    manifest: "manifest.json",
    reportCompressedSize: false,
  },
  server: {
    proxy: Object.fromEntries(
      ["/v1", "/v2", "/admin", "/auth", "/openapi.json", "/healthz", "/readyz"].map((path) => [path, { target: server, xfwd: true }]),
    ),
  },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
});
