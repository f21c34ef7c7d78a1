// Writes web/dist into internal/console/dist: text files compressed, and without files that are not served.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const web = dirname(dirname(fileURLToPath(import.meta.url)));
const from = join(web, "dist");
const to = process.argv[2] ?? join(web, "../internal/console/dist");
const packs = /\.(js|css|svg)$/;
const plain = /\.woff2$|^index\.html$|^LICENSES\.md$/;

rmSync(join(to, "assets"), { recursive: true, force: true });
for (const name of readdirSync(from, { recursive: true, withFileTypes: true })) {
  if (!name.isFile()) continue;
  const path = join(name.parentPath, name.name).slice(from.length + 1);
  const data = readFileSync(join(from, path));
  mkdirSync(dirname(join(to, path)), { recursive: true });
  if (packs.test(path)) writeFileSync(join(to, `${path}.gz`), gzipSync(data, { level: 9 }));
  else if (plain.test(path)) writeFileSync(join(to, path), data);
}
