// The Agents SDK: agents with tools, whose turns go on from a response, from a conversation, or from what the SDK itself remembers.
import OpenAI from "openai";
import { Agent, run, setDefaultOpenAIClient, setTracingDisabled, tool } from "@openai/agents";
import { z } from "zod";
import { models } from "./shared.mjs";

const client = new OpenAI({ maxRetries: 0 });
setDefaultOpenAIClient(client);
setTracingDisabled(true);

async function loop(model) {
  const ran = [];
  const tools = ["get_weather", "get_time"].map((name) => tool({
    name, description: "Looks something up.", parameters: z.object({ city: z.string() }),
    execute: async ({ city }) => {
      ran.push([name, typeof city]);
      return `It is fine in ${city}.`;
    },
  }));
  const agent = new Agent({ name: "guide", instructions: "Be brief.", model, tools });
  const question = "What is the weather and the time in Rome?";
  const told = ({ finalOutput, newItems, rawResponses }) => ({ said: finalOutput !== "", items: newItems.map(({ type }) => type), calls: rawResponses.length });

  const first = await run(agent, question);
  const next = await run(agent, "Is the weather the same tomorrow?", { previousResponseId: first.lastResponseId });
  const history = await run(agent, [...first.history, { role: "user", content: "And the time in Oslo?" }]);
  const streamed = await run(agent, question, { stream: true });
  let deltas = 0;
  for await (const event of streamed) if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta") deltas++;
  await streamed.completed;
  const conversation = await client.conversations.create({});
  await run(agent, question, { conversationId: conversation.id });
  const again = await run(agent, "What about the weather there?", { conversationId: conversation.id });
  const items = [];
  for await (const { type } of client.conversations.items.list(conversation.id, { order: "asc", limit: 4 })) items.push(type);
  return { first: told(first), next: told(next), history: told(history), streamed: { ...told(streamed), deltas: deltas > 0 }, again: told(again), items, ran: ran.length };
}

const seen = {};
for (const model of models) seen[model] = await loop(model);
console.log(JSON.stringify(seen, null, 2));
