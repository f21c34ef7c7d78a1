// Writes web/dist into internal/console/dist: text files compressed, and without files that are not served.
// A compressed file whose content is the same stays as it is: the bytes of gzip differ between versions of zlib.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";

const web = dirname(dirname(fileURLToPath(import.meta.url)));
const from = process.argv[2] ?? join(web, "dist");
const to = process.argv[3] ?? join(web, "../internal/console/dist");
const packs = /\.(js|css|svg)$/;
const plain = /\.woff2$|^index\.html$|^LICENSES\.md$/;
const own = "README.md"; // of the folder, not built
const styles = ["@fontsource-variable/geist-mono", "@fontsource-variable/inter", "tailwindcss"]; // Vite lists packages of scripts only

/** The paths of all files below a folder. */
function filesBelow(folder) {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((e) => e.isFile()).map((e) => join(e.parentPath, e.name).slice(folder.length + 1));
}

/** The content in gzip. The header names no system and no time, so that it is the same everywhere. */
function pack(data) {
  const packed = gzipSync(data, { level: 9 });
  packed.fill(0, 4, 8); // time
  packed[9] = 255; // system: unknown
  return packed;
}

/** The list of licences of Vite, with the packages that only style sheets contain. */
function withStyles(licences) {
  const of = (name) => {
    const { version, license } = JSON.parse(readFileSync(join(web, "node_modules", name, "package.json"), "utf8"));
    return `\n## ${name} - ${version} (${license})\n\n${readFileSync(join(web, "node_modules", name, "LICENSE"), "utf8").trim()}\n`;
  };
  return Buffer.from(licences.toString() + styles.map(of).join(""));
}

const kept = new Set([own]);
for (const path of filesBelow(from)) {
  const packed = packs.test(path);
  if (!packed && !plain.test(path)) continue;
  const built = readFileSync(join(from, path));
  const data = path === "LICENSES.md" ? withStyles(built) : built;
  const name = packed ? `${path}.gz` : path;
  const target = join(to, name);
  kept.add(name);
  if (packed && existsSync(target) && gunzipSync(readFileSync(target)).equals(data)) continue;
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, packed ? pack(data) : data);
}
for (const path of filesBelow(to)) if (!kept.has(path)) rmSync(join(to, path));
