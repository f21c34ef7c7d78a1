// Builds a script for Node out of TypeScript and the packages of the console: node scripts/driver.mjs <entry> <directory>
import { fileURLToPath } from "node:url";
import { build } from "vite";

const [entry, outDir] = process.argv.slice(2);
await build({
  configFile: false,
  logLevel: "error",
  resolve: { alias: { "@": fileURLToPath(new URL("../src", import.meta.url)) } },
  ssr: { noExternal: true },
  build: { ssr: entry, outDir, emptyOutDir: false, minify: false, target: "node20", rollupOptions: { output: { entryFileNames: "driver.mjs" } } },
});
