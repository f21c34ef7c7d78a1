// The AI SDK, over responses, chats and messages.
import assert from "node:assert/strict";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { embedMany, generateObject, generateText, Output, stepCountIs, streamText, tool } from "ai";
import * as cells from "./cells.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false; // it does not know the names of these models
const openai = createOpenAI();
const anthropic = createAnthropic({ baseURL: process.env.ANTHROPIC_BASE_URL + "/v1" });
const tools = () => Object.fromEntries(cells.toolNames.map((name) => [name, tool({
  description: "Looks something up.", inputSchema: cells.city, execute: async ({ city }) => `It is fine in ${city}.`,
})]));
const loop = (model) => ({ model, tools: tools(), stopWhen: stepCountIs(4), maxRetries: 0 });
const calledBoth = ({ toolCalls }) => cells.calledBoth(toolCalls.map(({ toolName, input }) => ({ name: toolName, args: input })));

const picture = (image, seen) => async (model) => {
  const content = [{ type: "text", text: "What is it? [sim:tokens=12]" }, { type: "image", image, mediaType: "image/png" }];
  assert.match((await generateText({ model, maxRetries: 0, messages: [{ role: "user", content }] })).text, seen);
};

const features = {
  async chat(model) {
    const { text, finishReason, usage } = await generateText({ model, maxRetries: 0, system: cells.system, prompt: cells.question });
    assert.ok(text.length > 0);
    assert.equal(finishReason, "stop");
    assert.ok(usage.inputTokens > 0 && usage.outputTokens > 0);
  },

  async stream(model) {
    const question = { model, maxRetries: 0, system: cells.system, prompt: cells.question };
    const stream = streamText(question);
    const pieces = [];
    for await (const piece of stream.textStream) pieces.push(piece);
    const plain = await generateText(question);
    cells.inPieces(pieces, plain.text);
    assert.equal((await stream.usage).outputTokens, plain.usage.outputTokens);
  },

  // The SDK runs the tools, and asks again with their results until the model is done: plainly, with the history of that, and as a stream.
  async tools(model) {
    const messages = [{ role: "user", content: cells.lookup }];
    const first = await generateText({ ...loop(model), messages });
    calledBoth(first.steps[0]);
    assert.deepEqual(first.steps.map(({ finishReason }) => finishReason), ["tool-calls", "stop"]);
    messages.push(...first.response.messages, { role: "user", content: cells.lookup });
    const stream = streamText({ ...loop(model), messages });
    await stream.consumeStream({ onError: (error) => { throw error; } });
    const steps = await stream.steps;
    calledBoth(steps[0]);
    assert.equal(steps.length, 2);
    assert.ok((await stream.text).length > 0);
  },

  async structured(model) {
    const question = { model, maxRetries: 0, prompt: "Who is it?" };
    cells.Person.parse((await generateObject({ ...question, schema: cells.Person })).object);
    const stream = streamText({ ...question, output: Output.object({ schema: cells.Person }) });
    let last;
    for await (const partial of stream.partialOutputStream) last = partial;
    cells.Person.parse(last);
  },

  images: picture(Buffer.from(cells.imageData, "base64"), cells.sawData),
  image_addresses: picture(new URL(cells.imageAddress), cells.sawAddress),
};

const overResponses = {
  async responses(model) {
    const first = await generateText({ ...loop(model), prompt: cells.lookup });
    const { responseId: previousResponseId } = first.providerMetadata.openai;
    const next = await generateText({ model, maxRetries: 0, prompt: "And so?", providerOptions: { openai: { previousResponseId } } });
    assert.ok(next.text.length > 0);
    assert.ok(next.usage.inputTokens > first.steps.at(-1).usage.inputTokens);
  },
};

const embedding = {
  async embeddings(name) {
    const { embeddings, usage } = await embedMany({ model: openai.embedding(name), values: ["one", "two"], maxRetries: 0, providerOptions: { openai: { dimensions: 8 } } });
    assert.deepEqual(embeddings.map(({ length }) => length), [8, 8]);
    assert.ok(usage.tokens > 0);
  },
};

// by gives each feature the model of a provider instead of its name.
const by = (provider, all) => Object.fromEntries(Object.entries(all).map(([name, run]) => [name, (model) => run(provider(model))]));

await cells.play({
  "@ai-sdk/openai": { ...by(openai, { ...features, ...overResponses }), ...embedding },
  "@ai-sdk/openai, chat": by(openai.chat, features),
  "@ai-sdk/anthropic": by(anthropic, features),
});
