// Anthropic's SDK.
import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import * as cells from "./cells.mjs";

const client = new Anthropic({ maxRetries: 0 });
const ask = (model, content, rest) => ({ model, max_tokens: 256, system: cells.system, messages: [{ role: "user", content }], ...rest });
const text = ({ content }) => content.filter(({ type }) => type === "text").map(({ text }) => text).join("");

const picture = (source) => async (model, seen) => {
  const message = await client.messages.create(ask(model, [{ type: "text", text: "What is it? [sim:tokens=12]" }, { type: "image", source }]));
  assert.match(text(message), seen);
};

const features = {
  async chat(model) {
    const message = await client.messages.create(ask(model, cells.question));
    assert.ok(text(message).length > 0);
    assert.equal(message.stop_reason, "end_turn");
    assert.ok(message.usage.input_tokens > 0 && message.usage.output_tokens > 0);
  },

  async stream(model) {
    const plain = await client.messages.create(ask(model, cells.question));
    const pieces = [];
    const streamed = await client.messages.stream(ask(model, cells.question)).on("text", (piece) => pieces.push(piece)).finalMessage();
    cells.inPieces(pieces, text(plain));
    assert.deepEqual(streamed.content, plain.content);
    assert.equal(streamed.usage.output_tokens, plain.usage.output_tokens);
  },

  async tools(model) {
    const tools = cells.toolNames.map((name) => ({ name, description: "Looks something up.", input_schema: cells.cityJSON }));
    const question = ask(model, cells.lookup, { tools });
    const first = await client.messages.create(question);
    const uses = ({ content }) => content.filter(({ type }) => type === "tool_use");
    const calls = (message) => uses(message).map(({ name, input }) => ({ name, args: input }));
    cells.calledBoth(calls(first));
    assert.equal(first.stop_reason, "tool_use");
    assert.deepEqual(calls(await client.messages.stream(question).finalMessage()), calls(first));
    const results = uses(first).map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "12" }));
    question.messages.push({ role: "assistant", content: first.content }, { role: "user", content: results });
    const last = await client.messages.create(question);
    assert.equal(last.stop_reason, "end_turn");
    assert.ok(text(last).length > 0);
  },

  async structured(model) {
    const { parsed_output } = await client.messages.parse(ask(model, "Who is it?", { output_config: { format: zodOutputFormat(cells.Person) } }));
    cells.Person.parse(parsed_output);
  },

  images: (model) => picture({ type: "base64", media_type: "image/png", data: cells.imageData })(model, cells.sawData),
  image_addresses: (model) => picture({ type: "url", url: cells.imageAddress })(model, cells.sawAddress),

  async batches(model) {
    const request = (custom_id, content) => ({ custom_id, params: ask(model, content) });
    const begun = await client.messages.batches.create({ requests: [request("good", "Hi [sim:tokens=3]"), request("bad", "Hi [sim:fault=bad_request]")] });
    await cells.until(({ processing_status }) => processing_status === "ended", () => client.messages.batches.retrieve(begun.id));
    const ended = {};
    for await (const { custom_id, result } of await client.messages.batches.results(begun.id)) ended[custom_id] = result;
    assert.ok(text(ended.good.message).length > 0);
    assert.equal(ended.bad.type, "errored");
  },
};

await cells.play({ "@anthropic-ai/sdk": features });
