// The SDKs of OpenAI and Anthropic on targets that speak neither dialect: Gemini's API and Bedrock's.
import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { pixel } from "./shared.mjs";

const openai = new OpenAI({ maxRetries: 0 });
const anthropic = new Anthropic({ maxRetries: 0 });
const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false };

async function chats(model) {
  const messages = [{ role: "system", content: "Be brief." }, { role: "user", content: "Hi" }];
  const create = (rest) => openai.chat.completions.create({ model, messages, ...rest });
  const plain = await create({});
  assert.ok(plain.choices[0].message.content.length > 0);
  assert.equal(plain.choices[0].finish_reason, "stop");
  assert.ok(plain.usage.prompt_tokens > 0 && plain.usage.completion_tokens > 0);
  assert.match(plain.id, /^chatcmpl-.+/);

  let text = "";
  let used;
  for await (const chunk of await create({ stream: true, stream_options: { include_usage: true } })) {
    text += chunk.choices[0]?.delta.content ?? "";
    used = chunk.usage ?? used;
  }
  assert.equal(text, plain.choices[0].message.content);
  assert.deepEqual(used, plain.usage);

  const tools = [{ type: "function", function: { name: "weather", description: "Tells the weather.", parameters: schema } }];
  const question = { model, messages: [{ role: "user", content: "Weather?" }], tools, tool_choice: "required" };
  const called = await openai.chat.completions.create(question);
  const streamed = await openai.chat.completions.stream(question).finalChatCompletion();
  const [call] = called.choices[0].message.tool_calls;
  assert.equal(called.choices[0].finish_reason, "tool_calls");
  assert.equal(typeof JSON.parse(call.function.arguments).city, "string");
  assert.equal(streamed.choices[0].message.tool_calls[0].function.arguments, call.function.arguments);
  const answered = await openai.chat.completions.create({
    model, tools, messages: [...question.messages, called.choices[0].message, { role: "tool", tool_call_id: call.id, content: "12 degrees" }],
  });
  assert.equal(answered.choices[0].finish_reason, "stop");

  const shaped = await create({ response_format: { type: "json_schema", json_schema: { name: "city", strict: true, schema } } });
  assert.equal(typeof JSON.parse(shaped.choices[0].message.content).city, "string");
  const image = { type: "image_url", image_url: { url: `data:image/png;base64,${pixel}` } };
  const seen = await create({ messages: [{ role: "user", content: [{ type: "text", text: "What is it?" }, image] }] });
  assert.match(seen.choices[0].message.content, /image/);
  assert.equal((await create({ max_tokens: 2 })).choices[0].finish_reason, "length");
  const thinking = await create({ reasoning_effort: "low", max_completion_tokens: 4096 });
  assert.ok(thinking.choices[0].message.content.length > 0);

  const several = await create({ n: 3 });
  assert.deepEqual(several.choices.map(({ index }) => index), [0, 1, 2]);
  assert.equal(several.usage.prompt_tokens, 3 * plain.usage.prompt_tokens);
  assert.equal(typeof JSON.parse((await create({ response_format: { type: "json_object" } })).choices[0].message.content), "object");

  const both = [{ role: "user", content: "Call weather and clock." }];
  const clock = { type: "function", function: { name: "clock", parameters: { type: "object", properties: {} } } };
  const single = await create({ messages: both, tools: [...tools, clock], tool_choice: "required", parallel_tool_calls: false });
  assert.equal(single.choices[0].message.tool_calls.length, 1);
  const refused = await create({ logprobs: true }).catch((error) => error);
  assert.equal(refused.status, 400);
  assert.equal(refused.param, "logprobs");
  const busy = await create({ messages: [{ role: "user", content: "Busy [sim:fault=overloaded]" }] }).catch((error) => error);
  assert.equal(busy.status, 503);
  return plain.usage;
}

async function messages(model) {
  const ask = { model, max_tokens: 100, system: "Be brief.", messages: [{ role: "user", content: "Hi" }] };
  const plain = await anthropic.messages.create(ask);
  assert.equal(plain.stop_reason, "end_turn");
  assert.ok(plain.usage.input_tokens > 0 && plain.usage.output_tokens > 0);
  const streamed = await anthropic.messages.stream(ask).finalMessage();
  assert.deepEqual(streamed.content, plain.content);
  assert.equal(streamed.usage.output_tokens, plain.usage.output_tokens);

  const tools = [{ name: "weather", description: "Tells the weather.", input_schema: schema }];
  const question = { model, max_tokens: 100, messages: [{ role: "user", content: "Weather?" }], tools, tool_choice: { type: "any" } };
  const called = await anthropic.messages.create(question);
  const inPieces = await anthropic.messages.stream(question).finalMessage();
  const use = called.content.find(({ type }) => type === "tool_use");
  assert.equal(called.stop_reason, "tool_use");
  assert.equal(typeof use.input.city, "string");
  assert.deepEqual(inPieces.content.find(({ type }) => type === "tool_use").input, use.input);
  const answered = await anthropic.messages.create({
    model, max_tokens: 100, tools, messages: [
      ...question.messages,
      { role: "assistant", content: called.content },
      { role: "user", content: [{ type: "tool_result", tool_use_id: use.id, content: "12 degrees" }] },
    ],
  });
  assert.equal(answered.stop_reason, "end_turn");
  const refused = await anthropic.messages.create({ ...ask, messages: [{ role: "user", content: "No [sim:fault=bad_request]" }] }).catch((error) => error);
  assert.equal(refused.status, 400);
  return plain.usage;
}

const count = await anthropic.messages.countTokens({ model: "gemini", messages: [{ role: "user", content: "How long is this?" }] });
assert.ok(count.input_tokens > 0);
const vectors = await openai.embeddings.create({ model: "gemini", input: ["one", "two"], dimensions: 8 });
assert.deepEqual(vectors.data.map(({ embedding }) => embedding.length), [8, 8]);

console.log(JSON.stringify({
  gemini: { chats: await chats("gemini"), messages: await messages("gemini") },
  bedrock: { chats: await chats("bedrock"), messages: await messages("bedrock") },
}));
