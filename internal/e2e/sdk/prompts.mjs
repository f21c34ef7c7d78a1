// Prompts of the registry: OpenAI's SDK with prompt in responses and the header in chat, Anthropic's SDK with either, by version and by label.
import OpenAI from "openai";
import Anthropic from "@anthropic-ai/sdk";
import { met } from "./shared.mjs";

const openai = new OpenAI({ maxRetries: 0 });
const anthropic = new Anthropic({ maxRetries: 0 });
const name = "sdk/answer";
const variables = { brand: "Acme", question: "Why?" };

// The registry has no SDK: its routes are called by the methods that both SDKs have for other routes.
const save = (words) => openai.post(`/prompts/${name}/versions`, { body: {
  kind: "chat", config: { model: "either", max_tokens: 16 },
  messages: [{ role: "system", content: `${words} {{brand}}` }, { role: "user", content: "{{question}}" }],
} });
await save("You are");
await save("You work for");
await openai.put(`/prompts/${name}/labels/production`, { body: { version: 1 } });
await openai.put(`/prompts/${name}/labels/canary`, { body: { version: 2 } });
const { id } = await openai.get(`/prompts/${name}`);

// told is the version that an answer names, and the first of the rendered messages.
async function told(promise) {
  const { response } = await promise.withResponse();
  const used = await openai.get(`/requests/${response.headers.get("x-request-id")}/prompt`);
  return { header: response.headers.get("x-penstock-prompt"), label: used.label, system: used.messages[0].content };
}

const respond = (prompt) => openai.responses.create({ prompt, store: false });
const chat = openai.chat.completions;
const headers = { "x-penstock-prompt": `${name}@canary`, "x-penstock-prompt-variables": JSON.stringify(variables) };
const always = new OpenAI({ maxRetries: 0, defaultHeaders: { ...headers, "x-penstock-prompt": id } });
const message = { max_tokens: 16, messages: [{ role: "user", content: "And?" }] };

let streamed = "";
const stream = await chat.create({ messages: [], stream: true }, { headers });
for await (const chunk of stream) streamed += chunk.choices[0]?.delta?.content ?? "";

console.log(JSON.stringify({
  responses: {
    label: await told(respond({ id, variables })),
    version: await told(respond({ id, version: "2", variables: { ...variables, brand: { type: "input_text", text: "Acme" } } })),
    unknown: await respond({ id: "pmpt_68a1f0" }).catch(met),
    missing: await respond({ id, variables: { brand: "Acme" } }).catch(met),
  },
  chat: {
    headers: await told(chat.create({ messages: [] }, { headers })),
    default_headers: await told(always.chat.completions.create({ model: "chats", messages: [] })),
    body: await told(chat.create({ messages: [], prompt: { name, version: 1, variables } })),
    streamed: streamed.length > 0,
  },
  messages: {
    headers: await told(anthropic.messages.create(message, { headers })),
    body: await told(anthropic.messages.create({ ...message, model: "claude", prompt: { name, label: "production", variables } })),
    missing: await anthropic.messages.create({ ...message, prompt: { name } }).catch(met),
  },
}, null, 2).replaceAll(id, "pmpt_<id>"));
