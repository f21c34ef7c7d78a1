// Anthropic's SDK on targets that speak OpenAI's dialect.
import Anthropic from "@anthropic-ai/sdk";
import { messageTools, met, pixel, told } from "./shared.mjs";

const client = new Anthropic({ maxRetries: 0 });
const ask = (model, content, rest) => ({ model, max_tokens: 16, messages: [{ role: "user", content }], ...rest });
const read = (question) => client.messages.stream(question).finalMessage();

const thinking = ask("played-chats", "Think first [play:thinking]", { max_tokens: 2048, thinking: { type: "enabled", budget_tokens: 1024 } });
const shown = await client.messages.create(ask("chats", [
  { type: "text", text: "What is on this?" },
  { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } },
]));

console.log(JSON.stringify({
  plain: told(await client.messages.create(ask("chats", "Hi across"))),
  streamed: told(await read(ask("chats", "Hi across"))),
  tools: await messageTools(client, "played-chats", "Look both up [play:calls]"),
  thinking: told(await client.messages.create(thinking)),
  thinking_in_pieces: told(await read(thinking)),
  pictures: Math.floor(shown.usage.input_tokens / 256),
  refused: await client.messages.create(ask("played-chats", "No [play:refused]")).catch(met),
  cut: await read(ask("played-chats", "Cut [play:cut]")).catch(met),
}, null, 2));
