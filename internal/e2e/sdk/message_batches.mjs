// The life of message batches: one with a failure among its requests, one that is cancelled halfway, one whose window
// closes, and one for several models.
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic();
const request = (custom_id, content, model = "sim") => ({ custom_id, params: { model, max_tokens: 16, messages: [{ role: "user", content }] } });
const wait = async (batch) => {
  while (batch.processing_status !== "ended") {
    await new Promise((resolve) => setTimeout(resolve, 50));
    batch = await client.messages.batches.retrieve(batch.id);
  }
  return batch;
};
const results = async (batch) => {
  const rows = [];
  for await (const row of await client.messages.batches.results(batch.id)) rows.push(row);
  return rows;
};

const begun = await client.messages.batches.create({
  requests: [request("good", "SDK message batch good [sim:tokens=3]"), request("bad", "SDK message batch bad [sim:fault=bad_request]")],
});
const mixed = await wait(begun);
const rows = await results(mixed);

const slow = await client.messages.batches.create({
  requests: Array.from({ length: 300 }, (_, n) => request(`row-${n}`, `SDK message batch slow ${n} [sim:latency=1s]`)),
});
const early = await client.messages.batches.results(slow.id).then(() => "no error", ({ status, message }) => status ?? message);
const cancelling = await client.messages.batches.cancel(slow.id);
const cancelled = await wait(cancelling);
const kinds = [...new Set((await results(cancelled)).map(({ result }) => result.type))];
const { succeeded, errored, canceled, expired } = cancelled.request_counts;

const late = await wait(await client.messages.batches.create({
  requests: [request("quick", "SDK message batch quick [sim:tokens=3]"), request("late", "SDK message batch late [sim:fault=hang]")],
}, { headers: { "x-penstock-window": "3s" } }));
const lateRows = await results(late);

const several = await wait(await client.messages.batches.create({
  requests: [request("one", "SDK message batch one", "sim-one"), request("two", "SDK message batch two", "sim-two"), request("three", "SDK message batch three", "sim-one")],
}));
const severalRows = await results(several);
const crossed = await client.messages.batches.create({ requests: [request("same", "x", "sim-one"), request("same", "y", "sim-two")] })
  .then(() => "no error", ({ status, error }) => ({ status, type: error.error.type }));

const listed = [];
for await (const batch of client.messages.batches.list({ limit: 1 })) listed.push(batch.processing_status);
const deleted = await client.messages.batches.delete(mixed.id);
await client.messages.batches.delete(several.id);
const gone = await client.messages.batches.retrieve(mixed.id).then(() => "no error", ({ status }) => status);
const refused = await client.messages.batches.create({ requests: [request("a b", "x")] }).then(() => "no error", ({ status, error }) => ({ status, type: error.error.type }));

console.log(JSON.stringify({
  begun: { type: begun.type, processing_status: begun.processing_status, results_url: begun.results_url, archived_at: begun.archived_at },
  mixed: { processing_status: mixed.processing_status, request_counts: mixed.request_counts },
  rows: rows.map(({ custom_id, result }) => ({
    custom_id, type: result.type, message: result.message && result.message.type, error: result.error && result.error.error.type,
  })),
  early: early !== "no error",
  cancelling: ["canceling", "ended"].includes(cancelling.processing_status),
  cancelled: { adds_up: succeeded + errored + canceled + expired === 300, some: canceled > 0, kinds: kinds.includes("canceled") },
  late: { request_counts: late.request_counts, rows: lateRows.map(({ custom_id, result: { type } }) => ({ custom_id, type })) },
  several: { request_counts: several.request_counts, rows: severalRows.map(({ custom_id, result: { type, message } }) => ({ custom_id, type, model: message?.model })) },
  crossed,
  listed,
  deleted: deleted.type,
  gone,
  refused,
}, null, 2));
