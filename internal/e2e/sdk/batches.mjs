// The life of batches: one with a failure among its lines, one that is cancelled halfway, one whose window closes, and
// one that cannot run at all.
import OpenAI, { toFile } from "openai";

const client = new OpenAI();
const upload = (name, lines) => toFile(Buffer.from(lines.join("\n") + "\n"), name).then((file) => client.files.create({ file, purpose: "batch" }));
const line = (id, content) => JSON.stringify({
  custom_id: id, method: "POST", url: "/v1/chat/completions", body: { model: "sim", messages: [{ role: "user", content }] },
});
const start = (file, window = "24h") => client.batches.create({
  input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: window, metadata: { team: "search" },
});
const wait = async (batch, ...wanted) => {
  while (!wanted.includes(batch.status)) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    batch = await client.batches.retrieve(batch.id);
  }
  return batch;
};
const rows = async (id) => id === null ? [] : (await (await client.files.content(id)).text()).trim().split("\n").map((row) => JSON.parse(row));
const shape = ({ object, endpoint, status, model, completion_window, request_counts, metadata, errors }) =>
  ({ object, endpoint, status, model, completion_window, request_counts, metadata, errors });

const mixed = await wait(await start(await upload("mixed.jsonl", [
  line("good", "SDK batch good [sim:tokens=3]"), line("bad", "SDK batch bad [sim:fault=bad_request]"), line("fine", "SDK batch fine [sim:tokens=3]"),
])), "completed");
const output = await rows(mixed.output_file_id);
const failures = await rows(mixed.error_file_id);

const slow = await upload("slow.jsonl", Array.from({ length: 300 }, (_, n) => line(`row-${n}`, `SDK batch slow ${n} [sim:latency=1s]`)));
const halfway = await wait(await start(slow), "in_progress");
const cancelling = await client.batches.cancel(halfway.id);
const cancelled = await wait(cancelling, "cancelled");
const expired = await wait(await start(slow, "1s"), "expired");
const refused = await start(await upload("refused.jsonl", [line("a", "SDK batch a"), "oops"]));

const listed = [];
for await (const batch of client.batches.list({ limit: 2 })) listed.push(batch.status);
const all = async ({ request_counts: { total, completed, failed }, error_file_id }) => {
  const lines = await rows(error_file_id);
  return { adds_up: completed + failed === total, told: lines.length === failed, codes: [...new Set(lines.map(({ error }) => error?.code))] };
};

console.log(JSON.stringify({
  mixed: shape(mixed),
  usage: mixed.usage.total_tokens === mixed.usage.input_tokens + mixed.usage.output_tokens,
  output: output.map(({ custom_id, response, error }) => ({ custom_id, status_code: response.status_code, object: response.body.object, error })),
  failures: failures.map(({ custom_id, response, error }) => ({ custom_id, status_code: response.status_code, code: response.body.error.code, error })),
  cancelling: ["cancelling", "cancelled"].includes(cancelling.status),
  cancelled: { status: cancelled.status, ...(await all(cancelled)) },
  expired: { status: expired.status, window: expired.completion_window, ...(await all(expired)) },
  refused: shape(refused),
  listed,
}, null, 2));
