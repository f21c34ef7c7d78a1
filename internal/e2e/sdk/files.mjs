// The life of a file: uploaded as a stream, listed page by page, read, downloaded and deleted.
import { createReadStream, writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI, { toFile } from "openai";

const client = new OpenAI();
const line = (n, rest = {}) => JSON.stringify({
  custom_id: `row-${n}`, method: "POST", url: "/v1/chat/completions",
  body: { model: "sim", messages: [{ role: "user", content: `SDK file ${n}` }] }, ...rest,
}) + "\n";
const shape = ({ object, bytes, filename, purpose, status, status_details, lines, errors }) =>
  ({ object, bytes, filename, purpose, status, status_details, lines, errors });

const scratch = mkdtempSync(join(tmpdir(), "files-"));
const content = Array.from({ length: 3000 }, (_, n) => line(n)).join("");
writeFileSync(join(scratch, "rows.jsonl"), content);
const large = await client.files.create({
  file: createReadStream(join(scratch, "rows.jsonl")), purpose: "batch", expires_after: { anchor: "created_at", seconds: 3600 },
});
rmSync(scratch, { recursive: true });
const bad = await client.files.create({ file: await toFile(Buffer.from(line(1) + "oops\n" + line(1)), "bad.jsonl"), purpose: "batch" });

const listed = [];
for await (const file of client.files.list({ limit: 1, order: "asc" })) listed.push(file.filename);
const outputs = await client.files.list({ purpose: "batch_output" });
const downloaded = await (await client.files.content(large.id)).text();
const link = await client.post(`/files/${large.id}/url`, { body: { expires_in: "5m" } });
const tail = await fetch(link.url, { headers: { range: `bytes=${content.length - 20}-` } });
const deleted = await client.files.delete(large.id);

const refused = {};
for (const [name, attempt] of Object.entries({
  "a deleted file": () => client.files.retrieve(large.id),
  "its content": () => client.files.content(large.id),
  "another purpose": async () => client.files.create({ file: await toFile(Buffer.from(line(1)), "x.jsonl"), purpose: "vision" }),
  "an empty file": async () => client.files.create({ file: await toFile(Buffer.from(""), "x.jsonl"), purpose: "batch" }),
})) {
  refused[name] = await attempt().then(() => "no error", ({ status, code, param, message }) => ({ status, code, param, message: message.replace(/file_\w+/, "file_<id>") }));
}
refused["its link"] = (await fetch(link.url)).status;

console.log(JSON.stringify({
  large: { ...shape(large), expires_after: large.expires_at - large.created_at },
  retrieved: shape(await client.files.retrieve(bad.id)),
  listed,
  outputs: outputs.data.length,
  same_bytes: downloaded === content,
  same_tail: tail.status === 206 && (await tail.text()) === content.slice(-20),
  deleted: { object: deleted.object, deleted: deleted.deleted, id: deleted.id === large.id },
  refused,
}, null, 2));
await client.files.delete(bad.id);
