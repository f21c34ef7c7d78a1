// A caller who aborts the stream of a message, and one who loses patience.
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ maxRetries: 0 });
const ask = (content) => ({ model: "claude", max_tokens: 16, messages: [{ role: "user", content }] });

const { data: stream, request_id } = await client.messages
  .create({ ...ask("SDK messages abort [sim:fault=stall]"), stream: true })
  .withResponse();
for await (const event of stream) {
  if (event.type !== "content_block_delta") continue;
  stream.controller.abort();
  break;
}

let impatient = "no error";
try {
  await client.messages.create(ask("SDK messages wait [sim:fault=hang]"), { timeout: 2000 });
} catch (error) {
  impatient = error.constructor.name;
}

console.log(JSON.stringify({ request_id, impatient }, null, 2));
