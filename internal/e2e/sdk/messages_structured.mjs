// Anthropic's SDK with structured output, a loop of tools and thinking, on targets of both dialects.
import Anthropic from "@anthropic-ai/sdk";
import { jsonSchemaOutputFormat } from "@anthropic-ai/sdk/helpers/json-schema";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { city, met, person } from "./shared.mjs";

const client = new Anthropic({ maxRetries: 0 });
const user = (content) => [{ role: "user", content }];

async function structured(model) {
  const question = { model, max_tokens: 256, messages: user("Who is it?"), output_config: { format: jsonSchemaOutputFormat(person) } };
  const plain = await client.messages.parse(question);
  const streamed = await client.messages.stream(question).finalMessage();
  return { plain: plain.parsed_output, streamed: JSON.parse(streamed.content[0].text) };
}

// The model decides when to call the tool, and ends the loop with a text.
async function loop(model) {
  const given = [];
  const tool = (name) => betaTool({ name, description: "Tells it.", inputSchema: city, run: (args) => { given.push({ name, args }); return "21"; } });
  const { content, stop_reason } = await client.beta.messages.toolRunner({
    model, max_tokens: 256, messages: user("What are the weather and the time in Paris?"), tools: [tool("get_weather"), tool("get_time"), tool("unasked")],
  });
  return { given, content, stop_reason };
}

async function thinking(model) {
  const question = { model, max_tokens: 4096, thinking: { type: "enabled", budget_tokens: 1024 }, messages: user("Think.") };
  const plain = await client.messages.create(question);
  const streamed = await client.messages.stream(question).finalMessage();
  const next = await client.messages.create({
    ...question, messages: [...question.messages, { role: "assistant", content: plain.content }, ...user("And so?")],
  });
  return {
    content: plain.content.map(({ signature, ...rest }) => (signature === undefined ? rest : { ...rest, signed: signature !== "" })),
    streamed_alike: JSON.stringify(streamed.content) === JSON.stringify(plain.content),
    next: next.content.map(({ type }) => type),
  };
}

const hot = { model: "chats", max_tokens: 16, messages: user("Hot"), temperature: 1.2 };

console.log(JSON.stringify({
  structured: { claude: await structured("claude"), chats: await structured("chats") },
  loop: { claude: await loop("claude"), chats: await loop("chats") },
  thinking: { claude: await thinking("claude"), chats: await thinking("chats") },
  temperature: await client.messages.create(hot).catch(met),
}, null, 2));
