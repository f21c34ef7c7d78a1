// Files that requests name: sent whole and in parts, by OpenAI's and Anthropic's SDK, and used in chats, responses and messages.
import { createHash } from "node:crypto";
import Anthropic, { toFile as toAnthropicFile } from "@anthropic-ai/sdk";
import OpenAI, { toFile } from "openai";
import { pixel } from "./shared.mjs";

const openai = new OpenAI();
const anthropic = new Anthropic();
const pdf = Buffer.concat([Buffer.from("%PDF-1.7\n"), Buffer.alloc(4000, 0xff), Buffer.from("\n%%EOF\n")]);
const shape = ({ object, bytes, filename, purpose, status, media_type }) => ({ object, bytes, filename, purpose, status, media_type });
const refusal = ({ status, code, param, message }) => ({ status, code, param, message: message.replace(/file_[0-9A-Z]{26}/g, "file_<id>") });

// OpenAI: whole files.
const document = await openai.files.create({
  file: await toFile(pdf, "report.pdf"), purpose: "user_data", expires_after: { anchor: "created_at", seconds: 7200 },
});
const image = await openai.files.create({ file: await toFile(Buffer.from(pixel, "base64"), "pixel.png"), purpose: "vision" });
const notes = await openai.files.create({ file: await toFile(Buffer.from("The code word is plum."), "notes.txt"), purpose: "user_data" });
const listed = [];
for await (const file of openai.files.list({ purpose: "user_data", order: "asc" })) listed.push(file.filename);

// OpenAI: in parts, which may arrive in any order.
const upload = await openai.uploads.create({ bytes: pdf.length, filename: "large.pdf", mime_type: "application/pdf", purpose: "user_data" });
const tail = await openai.uploads.parts.create(upload.id, { data: await toFile(pdf.subarray(1500), "blob") });
const head = await openai.uploads.parts.create(upload.id, { data: await toFile(pdf.subarray(0, 1500), "blob") });
const completed = await openai.uploads.complete(upload.id, { part_ids: [head.id, tail.id], md5: createHash("md5").update(pdf).digest("hex") });
const abandoned = await openai.uploads.create({ bytes: 10, filename: "x.pdf", mime_type: "application/pdf", purpose: "user_data" });
const cancelled = await openai.uploads.cancel(abandoned.id);

// The content reaches targets of every kind. The upstream counts 256 tokens for an image.
const used = {};
for (const model of ["chats", "claude", "chat-only", "gemini", "bedrock"]) {
  const chat = await openai.chat.completions.create({
    model, max_tokens: 16,
    messages: [{ role: "user", content: [{ type: "text", text: "Sum up." }, { type: "file", file: { file_id: completed.file.id } }, { type: "file", file: { file_id: notes.id } }] }],
  });
  const response = await openai.responses.create({
    model, store: false,
    input: [{ role: "user", content: [
      { type: "input_text", text: "What is this?" }, { type: "input_file", file_id: document.id }, { type: "input_image", file_id: image.id, detail: "auto" },
    ] }],
  });
  used[model] = { chat: chat.choices[0].finish_reason, response: response.status, images: Math.floor(response.usage.input_tokens / 256) > 0 };
}
const first = await openai.responses.create({ model: "chats", input: [{ role: "user", content: [{ type: "input_file", file_id: notes.id }] }] });
const second = await openai.responses.create({ model: "chats", previous_response_id: first.id, input: "And now?" });

// Anthropic's Files API.
const theirs = await anthropic.beta.files.upload({ file: await toAnthropicFile(pdf, "paper.pdf", { type: "application/pdf" }) });
const metadata = await anthropic.beta.files.retrieveMetadata(theirs.id);
const page = await anthropic.beta.files.list({ limit: 2 });
const message = await anthropic.beta.messages.create({
  model: "claude", max_tokens: 16, betas: ["files-api-2025-04-14"],
  messages: [{ role: "user", content: [
    { type: "document", source: { type: "file", file_id: theirs.id } }, { type: "image", source: { type: "file", file_id: image.id } }, { type: "text", text: "Sum up." },
  ] }],
});
const removed = await anthropic.beta.files.delete(theirs.id);

const refused = {};
for (const [name, attempt] of Object.entries({
  "an unknown file": () => openai.responses.create({ model: "chats", input: [{ role: "user", content: [{ type: "input_file", file_id: "file_01JQ0000000000000000000000" }] }] }),
  "a document as an image": () => openai.responses.create({ model: "chats", input: [{ role: "user", content: [{ type: "input_image", file_id: document.id, detail: "auto" }] }] }),
  "a deleted file": () => anthropic.beta.messages.create({ model: "claude", max_tokens: 16, messages: [{ role: "user", content: [{ type: "document", source: { type: "file", file_id: theirs.id } }] }] }),
  "a download": () => openai.files.content(document.id),
  "a cancelled upload": () => openai.uploads.complete(abandoned.id, { part_ids: [] }),
})) {
  refused[name] = await attempt().then(() => "no error", (error) => refusal({ ...error, param: error.param ?? null, code: error.code ?? error.type ?? null, message: error.message.replace(/upload_[0-9A-Z]{26}/g, "upload_<id>").replace(/req_[0-9A-Z]{26}/g, "req_<id>") }));
}

console.log(JSON.stringify({
  document: { ...shape(document), expires_after: document.expires_at - document.created_at },
  image: shape(image),
  listed,
  upload: { object: upload.object, status: upload.status, expires_after: upload.expires_at - upload.created_at },
  part: head.object,
  completed: { status: completed.status, file: shape(completed.file) },
  cancelled: cancelled.status,
  used,
  continued: second.status,
  anthropic: {
    uploaded: { type: theirs.type, filename: theirs.filename, mime_type: theirs.mime_type, size_bytes: theirs.size_bytes, downloadable: theirs.downloadable },
    same: metadata.id === theirs.id, listed: page.data.length, first: page.data[0].id === theirs.id, stop_reason: message.stop_reason, removed: removed.type,
  },
  refused,
}, null, 2));
