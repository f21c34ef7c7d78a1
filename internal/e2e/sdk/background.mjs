// Responses that are kept: in the background, polled, cancelled, expired, streamed and resumed, stored, deleted.
import OpenAI from "openai";

const client = new OpenAI({ maxRetries: 0 });
const question = { model: "sim", input: "Hi from the background", background: true };

const poll = async (response) => {
  while (response.status === "queued" || response.status === "in_progress") {
    await new Promise((resolve) => setTimeout(resolve, 50));
    response = await client.responses.retrieve(response.id);
  }
  return response;
};

const queued = await client.responses.create(question);
const done = await poll(queued);

const hanging = await client.responses.create({ ...question, input: "Hi [sim:fault=hang]" });
const cancelled = await client.responses.cancel(hanging.id);
const again = await client.responses.cancel(hanging.id);

const failed = await poll(await client.responses.create({ ...question, input: "Hi [sim:fault=context_length]" }));
const expired = await poll(await client.responses.create({ ...question, input: "Hi, too late [sim:fault=hang]" }, { headers: { "x-penstock-window": "1s" } }));

const kinds = [];
let first;
let last = -1;
let text = "";
let gaps = 0;
for await (const event of await client.responses.create({ ...question, stream: true })) {
  first ??= event.response.id;
  if (event.sequence_number !== last + 1) gaps++;
  last = event.sequence_number;
  kinds.push(event.type);
  if (event.type === "response.output_text.delta") text += event.delta;
  if (event.type === "response.output_text.delta" && text.split(" ").length > 2) break;
}
let resumed;
for await (const event of await client.responses.retrieve(first, { stream: true, starting_after: last })) {
  if (event.sequence_number !== last + 1) gaps++;
  last = event.sequence_number;
  kinds.push(event.type);
  if (event.type === "response.output_text.delta") text += event.delta;
  if (event.type === "response.completed") resumed = event.response;
}
const streamed = await client.responses.retrieve(first);

const stored = await client.responses.create({ model: "sim", input: "Hi from the background", store: true });
const kept = await client.responses.retrieve(stored.id);
await client.responses.delete(stored.id);

const met = async (promise) => {
  try {
    await promise;
    return "no error";
  } catch (error) {
    return { class: error.constructor.name, status: error.status, code: error.code, param: error.param };
  }
};

console.log(JSON.stringify({
  queued: { prefix: queued.id.slice(0, 5), status: queued.status, background: queued.background, output: queued.output },
  done: { same_id: done.id === queued.id, status: done.status, text: done.output_text, background: done.background },
  cancelled: { status: cancelled.status, again: again.status },
  failed: { status: failed.status, code: failed.error?.code },
  expired: { status: expired.status, code: expired.error?.code },
  streamed: {
    events: kinds.filter((kind, i) => kind !== kinds[i - 1]), gaps, same_id: resumed.id === first && streamed.id === first,
    whole: text === resumed.output_text || text === streamed.output_text,
  },
  stored: { same: kept.output_text === stored.output_text && kept.id === stored.id, background: kept.background },
  refused: {
    deleted: await met(client.responses.retrieve(stored.id)),
    not_streamed: await met(client.responses.retrieve(queued.id, { stream: true })),
    unkept: await met(client.responses.create({ ...question, store: false })),
    conversation: await met(client.responses.create({ model: "sim", input: "And?", conversation: "conv_1" })),
  },
}, null, 2));
