// LangChain: tool loops over responses and over chats, plain and streamed.
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";
import { models } from "./shared.mjs";

const tools = ["get_weather", "get_time"].map((name) => tool(({ city }) => `It is fine in ${city}.`, {
  name, description: "Looks something up.", schema: z.object({ city: z.string() }),
}));

async function turns(chat, messages) {
  const calls = [];
  for (;;) {
    const answer = await chat(messages);
    messages.push(answer);
    calls.push(answer.tool_calls.length);
    if (answer.tool_calls.length === 0) return { calls, said: answer.text !== "", tokens: answer.usage_metadata.total_tokens > 0 };
    for (const call of answer.tool_calls) messages.push(new ToolMessage({ tool_call_id: call.id, content: await tools.find(({ name }) => name === call.name).invoke(call.args) }));
  }
}

async function loop(options) {
  const model = new ChatOpenAI({ maxRetries: 0, configuration: { baseURL: process.env.OPENAI_BASE_URL }, ...options }).bindTools(tools);
  const messages = [new HumanMessage("What is the weather and the time in Rome?")];
  const first = await turns((all) => model.invoke(all), messages);
  messages.push(new HumanMessage("And the weather in Oslo?"));
  const streamed = await turns(async (all) => {
    let whole;
    for await (const chunk of await model.stream(all)) whole = whole === undefined ? chunk : whole.concat(chunk);
    return whole;
  }, messages);
  return { first, streamed };
}

const seen = {};
for (const model of models) seen[model] = { responses: await loop({ model, useResponsesApi: true }), chats: await loop({ model }) };
console.log(JSON.stringify(seen, null, 2));
