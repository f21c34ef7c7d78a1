// OpenAI's SDK with structured output, a loop of tools, reasoning and choices, on targets of both dialects.
import OpenAI from "openai";
import { makeParseableResponseFormat, makeParseableTextFormat } from "openai/lib/parser";
import { city, met, person } from "./shared.mjs";

const client = new OpenAI({ maxRetries: 0 });
const user = (content) => [{ role: "user", content }];
const schema = { name: "person", strict: true, schema: person };
const response_format = makeParseableResponseFormat({ type: "json_schema", json_schema: schema }, JSON.parse);

async function structured(model) {
  const question = { model, messages: user("Who is it?"), response_format };
  const plain = await client.chat.completions.parse(question);
  const streamed = await client.chat.completions.stream(question).finalChatCompletion();
  return { plain: plain.choices[0].message.parsed, streamed: streamed.choices[0].message.parsed };
}

// The model decides when to call the tool, and ends the loop with a text.
async function loop(model) {
  const given = [];
  const tool = (name) => ({
    type: "function",
    function: { name, description: "Tells it.", parameters: city, parse: JSON.parse, function: (args) => { given.push({ name, args }); return "21"; } },
  });
  const runner = client.chat.completions.runTools({
    model, messages: user("What are the weather and the time in Paris?"), tools: [tool("get_weather"), tool("get_time"), tool("unasked")],
  });
  const text = await runner.finalContent();
  return { given, turns: runner.allChatCompletions().length, text };
}

async function reasoning(model) {
  const question = { model, messages: user("Think."), reasoning_effort: "low", max_completion_tokens: 4096 };
  const { choices: [{ message }] } = await client.chat.completions.create(question);
  let streamed = "";
  for await (const chunk of await client.chat.completions.create({ ...question, stream: true })) {
    streamed += chunk.choices[0]?.delta.reasoning_content ?? "";
  }
  return { thought: message.reasoning_content, streamed_alike: streamed === message.reasoning_content, content: message.content };
}

// Several choices, from targets that have them and from those that give one answer for each call.
async function twice(model) {
  const question = { model, messages: user("Twice."), n: 2 };
  const { choices, usage } = await client.chat.completions.create(question);
  const texts = ["", ""];
  let streamed;
  for await (const chunk of await client.chat.completions.create({ ...question, stream: true, stream_options: { include_usage: true } })) {
    for (const { index, delta } of chunk.choices) texts[index] += delta.content ?? "";
    streamed = chunk.usage ?? streamed;
  }
  return {
    choices: choices.map(({ index, message }) => [index, message.content]), prompt_tokens: usage.prompt_tokens, completion_tokens: usage.completion_tokens,
    streamed_alike: texts.every((text, index) => text === choices[index].message.content) && streamed.total_tokens === usage.total_tokens,
  };
}

// A feature that targets of messages do not have.
const probable = (model) => client.chat.completions.create({ model, messages: user("Likely?"), logprobs: true }).withResponse()
  .then(({ data, response }) => ({
    logprobs: data.choices[0].logprobs.content.length > 0,
    target: response.headers.get("x-penstock-target"), skipped: response.headers.get("x-penstock-skipped-targets"),
  }));

const dropped = (model) => client.chat.completions.create({ model, messages: user("Seeded."), seed: 7, frequency_penalty: 0.5 }).asResponse()
  .then((response) => response.headers.get("x-penstock-dropped-fields"));

async function object(model) {
  const { choices } = await client.chat.completions.create({ model, messages: user("JSON"), response_format: { type: "json_object" } });
  return typeof JSON.parse(choices[0].message.content);
}

const response = await client.responses.parse({
  model: "chats", input: "Who is it?", text: { format: makeParseableTextFormat({ type: "json_schema", ...schema }, JSON.parse) },
});
const likely = await client.chat.completions.create({ model: "chats", messages: user("Likely?"), logprobs: true, top_logprobs: 2 });
const completed = await client.completions.create({ model: "chats", prompt: ["One", "Two"], n: 2 });

console.log(JSON.stringify({
  structured: { chats: await structured("chats"), claude: await structured("claude"), response: response.output_parsed },
  loop: { chats: await loop("chats"), claude: await loop("claude") },
  reasoning: { chats: await reasoning("chats"), claude: await reasoning("claude") },
  twice: { chats: await twice("chats"), claude: await twice("claude"), gemini: await twice("gemini"), bedrock: await twice("bedrock") },
  incapable: { moved: await probable("either"), alone: await probable("claude-alone").catch(met), vendor: await probable("mixed").catch(met) },
  dropped: { chats: await dropped("chats"), claude: await dropped("claude"), gemini: await dropped("gemini"), bedrock: await dropped("bedrock") },
  logprobs: likely.choices[0].logprobs.content.map(({ token, top_logprobs }) => [token, top_logprobs.length]),
  completions: completed.choices.map(({ index, text }) => [index, text]),
  prompts: (await client.completions.create({ model: "chat-only", prompt: ["One", "Two"], n: 2 })).choices.map(({ index, text }) => [index, text]),
  json_object: { chats: await object("chats"), claude: await object("claude"), gemini: await object("gemini"), bedrock: await object("bedrock") },
  temperature: await client.chat.completions.create({ model: "claude", messages: user("Hot"), temperature: 1.5 }).catch(met),
}, null, 2));
