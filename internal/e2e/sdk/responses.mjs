// Responses: created, streamed, with a tool.
import OpenAI from "openai";

const client = new OpenAI();
const question = { model: "sim", input: "Hi from the SDK" };
const created = await client.responses.create(question);

const kinds = [];
let deltas = 0;
let completed;
for await (const event of await client.responses.create({ ...question, stream: true })) {
  if (event.type === "response.output_text.delta") deltas++;
  else kinds.push(event.type);
  if (event.type === "response.completed") completed = event.response;
}

const tools = [{ type: "function", name: "look", parameters: { type: "object", properties: {} }, strict: false }];
const used = await client.responses.create({ ...question, tools, tool_choice: "required" });
const { type, name, arguments: given } = used.output[0];

console.log(JSON.stringify({
  created: { status: created.status, text: created.output_text, usage: created.usage },
  streamed: { events: kinds, deltas, same_text: completed.output.at(-1).content[0].text === created.output_text },
  tool: { type, name, arguments: given },
}, null, 2));
