// Pictures in a chat, to targets of both dialects, and in a message.
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { pixel } from "./shared.mjs";

const client = new OpenAI();
const seen = {};
for (const model of ["chats", "claude"]) {
  const completion = await client.chat.completions.create({
    model,
    max_tokens: 16,
    messages: [{
      role: "user",
      content: [
        { type: "text", text: "What is on these?" },
        { type: "image_url", image_url: { url: "https://example.com/cat.png" } },
        { type: "image_url", image_url: { url: "data:image/png;base64," + pixel } },
      ],
    }],
  });
  // The upstream counts 256 tokens for every picture that reached it.
  seen[model] = { pictures: Math.floor(completion.usage.prompt_tokens / 256), finish_reason: completion.choices[0].finish_reason };
}

const message = await new Anthropic().messages.create({
  model: "claude",
  max_tokens: 16,
  messages: [{
    role: "user",
    content: [
      { type: "text", text: "What is on these?" },
      { type: "image", source: { type: "url", url: "https://example.com/cat.png" } },
      { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } },
    ],
  }],
});
seen.message = { pictures: Math.floor(message.usage.input_tokens / 256), stop_reason: message.stop_reason };

console.log(JSON.stringify(seen, null, 2));
