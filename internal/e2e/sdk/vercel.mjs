// The AI SDK: tool loops in which it refers to items that the server has, answers by schema, and streams, over responses and over messages.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, Output, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { models, pixel } from "./shared.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false; // it does not know the names of these models
const openai = createOpenAI();
const anthropic = createAnthropic({ baseURL: process.env.ANTHROPIC_BASE_URL + "/v1" });
const tools = Object.fromEntries(["get_weather", "get_time"].map((name) => [name, tool({
  description: "Looks something up.", inputSchema: z.object({ city: z.string() }), execute: async ({ city }) => `It is fine in ${city}.`,
})]));
const told = ({ text, steps }) => ({ said: text !== "", steps: steps.map(({ finishReason, toolCalls }) => [finishReason, toolCalls.length]) });

async function loop(model) {
  const common = { model, tools, stopWhen: stepCountIs(4), maxRetries: 0 };
  const messages = [{ role: "user", content: "What is the weather and the time in Rome?" }];
  const first = await generateText({ ...common, messages });
  messages.push(...first.response.messages, { role: "user", content: "And the weather in Oslo?" });
  const next = await generateText({ ...common, messages });
  const stream = streamText({ ...common, messages });
  const parts = [];
  for await (const { type } of stream.fullStream) if (parts.at(-1) !== type) parts.push(type);
  const streamed = { ...told({ text: await stream.text, steps: await stream.steps }), parts: [...new Set(parts)].sort(), tokens: (await stream.totalUsage).totalTokens > 0 };
  const { output } = await generateText({
    model, maxRetries: 0, prompt: "A city, please", output: Output.object({ schema: z.object({ name: z.string(), people: z.number().int() }) }),
  });
  const seen = await generateText({
    model, maxRetries: 0, messages: [{ role: "user", content: [{ type: "text", text: "What is it?" }, { type: "image", image: Buffer.from(pixel, "base64"), mediaType: "image/png" }] }],
  });
  return { first: told(first), next: told(next), streamed, output: Object.entries(output).map(([name, value]) => [name, typeof value]), seen: seen.text !== "" };
}

const seen = {};
for (const model of models) seen[model] = await loop(openai(model));
// Responses that say where they go on, and that leave nothing behind.
const first = await generateText({ model: openai(models[0]), prompt: "Hi", maxRetries: 0 });
const { responseId: previousResponseId } = first.providerMetadata.openai;
const next = await generateText({ model: openai(models[0]), prompt: "Go on", maxRetries: 0, providerOptions: { openai: { previousResponseId, store: false } } });
seen.continued = next.usage.inputTokens > first.usage.inputTokens + first.usage.outputTokens;
// A stream that breaks off: the SDK checks each event against a schema, so an error event that it does not understand hides the reason.
seen.broken = {};
for (const model of models) {
  const { fullStream } = streamText({ model: openai(model), prompt: "Hi [sim:tokens=9 fault=disconnect]", maxRetries: 0, onError: ({ error }) => { seen.broken[model] = error.error?.message ?? error.message; } });
  for await (const part of fullStream);
}
seen.messages = await loop(anthropic(models[0]));
console.log(JSON.stringify(seen, null, 2));
