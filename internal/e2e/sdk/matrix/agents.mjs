// OpenAI's Agents SDK.
import assert from "node:assert/strict";
import { Agent, handoff, OpenAIProvider, Runner, tool } from "@openai/agents";
import * as cells from "./cells.mjs";

// over runs agents with one of OpenAI's APIs.
const over = (api) => {
  const runner = new Runner({ tracingDisabled: true, modelProvider: new OpenAIProvider({ useResponses: api === "responses" }) }); // traces go to OpenAI
  return runner.run.bind(runner);
};
const guide = (model, rest) => new Agent({ name: "guide", instructions: cells.system, model, ...rest });
const tools = cells.toolNames.map((name) => tool({
  name, description: "Looks something up.", parameters: cells.city, execute: async ({ city }) => `It is fine in ${city}.`,
}));
const calls = ({ newItems }) => newItems.filter(({ type }) => type === "tool_call_item").map(({ rawItem }) => ({ name: rawItem.name, args: JSON.parse(rawItem.arguments) }));

const picture = (run, image, seen) => async (model) => {
  const content = [{ type: "input_text", text: "What is it? [sim:tokens=12]" }, { type: "input_image", image }];
  assert.match((await run(guide(model), [{ role: "user", content }])).finalOutput, seen);
};

const features = (run) => ({
  async chat(model) {
    const { finalOutput, rawResponses: [{ usage }] } = await run(guide(model), cells.question);
    assert.ok(finalOutput.length > 0);
    assert.ok(usage.inputTokens > 0 && usage.outputTokens > 0);
  },

  async stream(model) {
    const stream = await run(guide(model), cells.question, { stream: true });
    const pieces = [];
    for await (const event of stream) if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta") pieces.push(event.data.delta);
    await stream.completed;
    cells.inPieces(pieces, (await run(guide(model), cells.question)).finalOutput);
  },

  async tools(model) {
    const plain = await run(guide(model, { tools }), cells.lookup);
    cells.calledBoth(calls(plain));
    assert.ok(plain.finalOutput.length > 0);
    const stream = await run(guide(model, { tools }), cells.lookup, { stream: true });
    await stream.completed;
    cells.calledBoth(calls(stream));
  },

  // The first agent also hands over to one of two others, whose answer has a schema.
  async structured(model) {
    const [math, history] = ["Math Tutor", "History Tutor"].map((name) => new Agent({ name, instructions: cells.system, model, outputType: cells.Person }));
    cells.Person.parse((await run(history, "Who is it?")).finalOutput);
    const triage = Agent.create({ name: "Triage", instructions: cells.system, model, handoffs: [handoff(math), handoff(history)] });
    const handed = await run(triage, "Ask the history tutor who it is.");
    assert.equal(handed.lastAgent.name, "History Tutor");
    cells.Person.parse(handed.finalOutput);
  },

  images: picture(run, "data:image/png;base64," + cells.imageData, cells.sawData),
  image_addresses: picture(run, cells.imageAddress, cells.sawAddress),
});

const goingOn = (run) => ({
  async responses(model) {
    const agent = guide(model, { tools });
    const first = await run(agent, cells.lookup);
    const next = await run(agent, "And so?", { previousResponseId: first.lastResponseId });
    assert.ok(next.finalOutput.length > 0);
    assert.ok(next.rawResponses[0].usage.inputTokens > first.rawResponses.at(-1).usage.inputTokens);
    const history = await run(agent, [...first.history, { role: "user", content: cells.lookup }]);
    cells.calledBoth(calls(history));
  },
});

await cells.play({
  "@openai/agents": { ...features(over("responses")), ...goingOn(over("responses")) },
  "@openai/agents, chat": features(over("chats")),
});
