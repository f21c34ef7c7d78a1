// What people do first with Anthropic's SDK: ask, stream, use a tool, count, list. The two variables of
// the environment are all that it needs.
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic();
const ask = (content, rest) => ({ model: "claude", max_tokens: 16, messages: [{ role: "user", content }], ...rest });

const { data: plain, response } = await client.messages.create(ask("Hi from the SDK")).withResponse();

const deltas = [];
const stream = client.messages.stream(ask("Hi in pieces")).on("text", (text) => deltas.push(text));
const streamed = await stream.finalMessage();

const tools = [{ name: "look", description: "Looks something up.", input_schema: { type: "object", properties: {} } }];
const used = await client.messages.create(ask("Look it up", { tools, tool_choice: { type: "tool", name: "look" } }));
const call = used.content.find((block) => block.type === "tool_use");
const answered = await client.messages.create({
  ...ask("Look it up"),
  tools,
  messages: [
    { role: "user", content: "Look it up" },
    { role: "assistant", content: used.content },
    { role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: "It is 7." }] },
  ],
});

const counted = await client.messages.countTokens({ model: "chats", messages: [{ role: "user", content: "How long is this?" }] }).withResponse();

const listed = [];
for await (const model of client.models.list({ limit: 1 })) listed.push(model.id);

console.log(JSON.stringify({
  plain: { content: plain.content, stop_reason: plain.stop_reason, usage: plain.usage, request_id: plain._request_id },
  target: response.headers.get("x-penstock-target"),
  streamed: { content: streamed.content, stop_reason: streamed.stop_reason, usage: streamed.usage, deltas: deltas.length },
  tool: { name: call.name, input: call.input, stop_reason: used.stop_reason },
  answered: answered.content,
  counted: { ...counted.data, estimate: counted.response.headers.get("x-penstock-estimate") },
  listed,
  model: await client.models.retrieve("claude"),
}, null, 2));
