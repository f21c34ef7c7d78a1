// Streams, read chunk by chunk, with and without usage, and by the SDK's own helper.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.env.PENSTOCK_URL + "/v1", apiKey: process.env.PENSTOCK_API_KEY });
const question = { model: "sim", messages: [{ role: "user", content: "Count for me" }] };

async function read(options) {
  const pieces = [];
  let usage = null;
  let finished = null;
  for await (const chunk of await client.chat.completions.create({ ...question, stream: true, ...options })) {
    usage = chunk.usage ?? usage;
    finished = chunk.choices[0]?.finish_reason ?? finished;
    if (chunk.choices[0]?.delta.content) pieces.push(chunk.choices[0].delta.content);
  }
  return { pieces, finished, tokens: usage?.total_tokens ?? null };
}

const plain = await read({});
const withUsage = await read({ stream_options: { include_usage: true } });
const helped = await client.chat.completions.stream(question).finalContent();

console.log(JSON.stringify({ plain, withUsage, helped }, null, 2));
