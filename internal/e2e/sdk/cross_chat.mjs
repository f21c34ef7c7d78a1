// OpenAI's SDK on targets that speak Anthropic's dialect.
import OpenAI from "openai";
import { chatTools, met } from "./shared.mjs";

const client = new OpenAI({ maxRetries: 0 });
const ask = (model, content, rest) => ({ model, messages: [{ role: "user", content }], ...rest });
const read = async (question) => {
  const pieces = [];
  let tokens = null;
  let finished = null;
  for await (const chunk of await client.chat.completions.create({ ...question, stream: true })) {
    tokens = chunk.usage?.total_tokens ?? tokens;
    finished = chunk.choices[0]?.finish_reason ?? finished;
    if (chunk.choices[0]?.delta.content) pieces.push(chunk.choices[0].delta.content);
  }
  return { pieces, finished, tokens };
};

const plain = await client.chat.completions.create(ask("claude", "Hi across"));
const thinking = ask("played-claude", "Think first [play:thinking]", { reasoning_effort: "low" });
const thought = await client.chat.completions.create(thinking);

console.log(JSON.stringify({
  plain: { content: plain.choices[0].message.content, finish_reason: plain.choices[0].finish_reason, tokens: plain.usage.total_tokens },
  streamed: await read(ask("claude", "Hi across", { stream_options: { include_usage: true } })),
  tools: await chatTools(client, "played-claude", "Look both up [play:calls]"),
  thinking: { message: thought.choices[0].message, usage: thought.usage },
  thinking_in_pieces: await read(thinking),
  refused: await client.chat.completions.create(ask("played-claude", "No [play:refused]")).catch(met),
  cut: await read(ask("played-claude", "Cut [play:cut]")).catch(met),
}, null, 2));
