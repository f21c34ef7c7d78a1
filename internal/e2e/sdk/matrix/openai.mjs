// OpenAI's SDK.
import assert from "node:assert/strict";
import OpenAI, { toFile } from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import * as cells from "./cells.mjs";

const client = new OpenAI({ maxRetries: 0 });
const ask = (model, content, rest) => ({ model, messages: [{ role: "system", content: cells.system }, { role: "user", content }], ...rest });
const chat = (...question) => client.chat.completions.create(ask(...question));

const picture = (url) => async (model, text) => {
  const { choices } = await chat(model, [{ type: "text", text: "What is it? [sim:tokens=12]" }, { type: "image_url", image_url: { url } }]);
  assert.match(choices[0].message.content, text);
};

const features = {
  async chat(model) {
    const { choices: [{ message, finish_reason }], usage } = await chat(model, cells.question);
    assert.ok(message.content.length > 0);
    assert.equal(finish_reason, "stop");
    assert.ok(usage.prompt_tokens > 0 && usage.total_tokens === usage.prompt_tokens + usage.completion_tokens);
  },

  async stream(model) {
    const plain = await chat(model, cells.question);
    const pieces = [];
    let usage;
    for await (const chunk of await chat(model, cells.question, { stream: true, stream_options: { include_usage: true } })) {
      if (chunk.choices[0]?.delta.content) pieces.push(chunk.choices[0].delta.content);
      usage = chunk.usage ?? usage;
    }
    cells.inPieces(pieces, plain.choices[0].message.content);
    assert.equal(usage.total_tokens, plain.usage.total_tokens);
  },

  async tools(model) {
    const tools = cells.toolNames.map((name) => ({ type: "function", function: { name, description: "Looks something up.", parameters: cells.cityJSON, strict: true } }));
    const first = await chat(model, cells.lookup, { tools });
    const { message } = first.choices[0];
    const calls = ({ tool_calls }) => tool_calls.map(({ function: { name, arguments: given } }) => ({ name, args: JSON.parse(given) }));
    cells.calledBoth(calls(message));
    assert.equal(first.choices[0].finish_reason, "tool_calls");
    const streamed = await client.chat.completions.stream(ask(model, cells.lookup, { tools })).finalChatCompletion();
    assert.deepEqual(calls(streamed.choices[0].message), calls(message));
    const question = ask(model, cells.lookup, { tools });
    question.messages.push(message, ...message.tool_calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "12" })));
    const last = await client.chat.completions.create(question);
    assert.equal(last.choices[0].finish_reason, "stop");
    assert.ok(last.choices[0].message.content.length > 0);
  },

  async structured(model) {
    const chatted = await client.chat.completions.parse(ask(model, "Who is it?", { response_format: zodResponseFormat(cells.Person, "person") }));
    cells.Person.parse(chatted.choices[0].message.parsed);
    const responded = await client.responses.parse({ model, input: "Who is it?", text: { format: zodTextFormat(cells.Person, "person") } });
    cells.Person.parse(responded.output_parsed);
  },

  images: (model) => picture("data:image/png;base64," + cells.imageData)(model, cells.sawData),
  image_addresses: (model) => picture(cells.imageAddress)(model, cells.sawAddress),

  // Three turns: a call of tools, their results, and a question that goes on from there; then the last of them again as a stream.
  async responses(model) {
    const tools = cells.toolNames.map((name) => ({ type: "function", name, description: "Looks something up.", parameters: cells.cityJSON, strict: true }));
    const first = await client.responses.create({ model, instructions: cells.system, input: cells.lookup, tools });
    const calls = first.output.filter(({ type }) => type === "function_call");
    cells.calledBoth(calls.map(({ name, arguments: given }) => ({ name, args: JSON.parse(given) })));
    const results = calls.map(({ call_id }) => ({ type: "function_call_output", call_id, output: "12" }));
    const second = await client.responses.create({ model, previous_response_id: first.id, input: results, tools });
    assert.ok(second.output_text.length > 0);
    const next = { model, previous_response_id: second.id, input: "And so?" };
    const third = await client.responses.create(next);
    assert.ok(third.usage.input_tokens > second.usage.input_tokens);
    const pieces = [];
    let completed;
    for await (const event of await client.responses.create({ ...next, stream: true })) {
      if (event.type === "response.output_text.delta") pieces.push(event.delta);
      if (event.type === "response.completed") completed = event.response;
    }
    cells.inPieces(pieces, third.output_text);
    assert.equal(completed.previous_response_id, second.id);
  },

  async embeddings(model) {
    const { data, usage } = await client.embeddings.create({ model, input: ["one", "two"], dimensions: 8 });
    assert.deepEqual(data.map(({ index, embedding }) => [index, embedding.length]), [[0, 8], [1, 8]]);
    assert.ok(usage.prompt_tokens > 0);
  },

  async files() {
    const content = line("a", "chats", "Hi") + line("b", "chats", "Hi");
    const made = await client.files.create({ file: await toFile(Buffer.from(content), "rows.jsonl"), purpose: "batch" });
    const listed = [];
    for await (const { id } of client.files.list({ limit: 1 })) listed.push(id);
    assert.ok(listed.includes(made.id));
    assert.equal((await client.files.retrieve(made.id)).bytes, content.length);
    assert.equal(await (await client.files.content(made.id)).text(), content);
    assert.ok((await client.files.delete(made.id)).deleted);
    assert.equal(await client.files.retrieve(made.id).then(() => 200, ({ status }) => status), 404);
  },

  async batches(model) {
    const content = line("good", model, "Hi [sim:tokens=3]") + line("bad", model, "Hi [sim:fault=bad_request]");
    const file = await client.files.create({ file: await toFile(Buffer.from(content), "rows.jsonl"), purpose: "batch" });
    const begun = await client.batches.create({ input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" });
    const ended = await cells.until(({ status }) => status === "completed", () => client.batches.retrieve(begun.id));
    const rows = async (id) => (await (await client.files.content(id)).text()).trim().split("\n").map((row) => JSON.parse(row));
    const [good] = await rows(ended.output_file_id);
    assert.equal(good.custom_id, "good");
    assert.ok(good.response.body.choices[0].message.content.length > 0);
    const [bad] = await rows(ended.error_file_id);
    assert.deepEqual([bad.custom_id, bad.response.status_code], ["bad", 400]);
  },
};

const line = (custom_id, model, content) =>
  JSON.stringify({ custom_id, method: "POST", url: "/v1/chat/completions", body: { model, messages: [{ role: "user", content }] } }) + "\n";

await cells.play({ openai: features });
