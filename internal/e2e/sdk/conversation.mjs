// Responses that go on from earlier ones, which are kept here: the upstream is sent the whole conversation.
import OpenAI from "openai";

const client = new OpenAI({ maxRetries: 0 });
const ask = (input, previous_response_id, rest) => client.responses.create({ model: "sim", input, previous_response_id, store: true, ...rest });
const met = (promise) => promise.then(() => "no error", ({ status, code, param }) => ({ status, code, param }));

const first = await ask("One two three four five six seven");
const second = await ask([{ role: "user", content: "Go on" }], first.id);
const third = await ask("And on", second.id, { store: false });
let streamed;
for await (const event of await ask("Go on", first.id, { stream: true })) if (event.type === "response.completed") streamed = event.response;
const background = await ask("Go on [sim:fault=hang]", first.id, { background: true });
const open = await met(ask("Too early", background.id));
const cancelled = await client.responses.cancel(background.id);
const nothing = await met(ask("Too late", background.id));
await client.responses.delete(first.id);

console.log(JSON.stringify({
  first: first.previous_response_id,
  second: second.previous_response_id === first.id,
  read: (await client.responses.retrieve(second.id)).previous_response_id === first.id,
  streamed: streamed.previous_response_id === first.id,
  background: [background, cancelled].every(({ previous_response_id }) => previous_response_id === first.id),
  // Each turn asks with all that was said until then.
  grows: second.usage.input_tokens >= first.usage.input_tokens + first.usage.output_tokens
    && third.usage.input_tokens >= second.usage.input_tokens + second.usage.output_tokens
    && streamed.usage.input_tokens === second.usage.input_tokens,
  open,
  nothing,
  deleted: await met(ask("Go on", first.id)),
  later: (await ask("Still there", second.id)).status,
  unknown: await met(ask("Go on", "resp_01JQ0000000000000000000000")),
  none: await met(ask("Go on", "chatcmpl-1")),
}, null, 2));
