// LangChain.
import assert from "node:assert/strict";
import { HumanMessage, SystemMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import * as cells from "./cells.mjs";

const chat = (model, rest) => new ChatOpenAI({ model, maxRetries: 0, ...rest });
const asked = () => [new SystemMessage(cells.system), new HumanMessage(cells.question)];
const tools = cells.toolNames.map((name) => tool(({ city }) => `It is fine in ${city}.`, { name, description: "Looks something up.", schema: cells.city }));

async function gather(stream) {
  const pieces = [];
  let whole;
  for await (const chunk of stream) {
    if (chunk.text) pieces.push(chunk.text);
    whole = whole === undefined ? chunk : whole.concat(chunk);
  }
  return { pieces, whole };
}

// loop answers the calls of a message with their results, and asks again.
async function loop(model, messages, answer) {
  messages.push(answer);
  for (const call of answer.tool_calls) messages.push(await tools.find(({ name }) => name === call.name).invoke(call));
  const last = await model.invoke(messages);
  assert.equal(last.tool_calls.length, 0);
  assert.ok(last.text.length > 0);
  return last;
}

const picture = (url, seen) => async (model) => {
  const content = [{ type: "text", text: "What is it? [sim:tokens=12]" }, { type: "image_url", image_url: { url } }];
  assert.match((await chat(model).invoke([new HumanMessage({ content })])).text, seen);
};

const features = {
  async chat(model) {
    const [one, two] = await chat(model).batch([asked(), asked()]);
    assert.ok(one.text.length > 0);
    assert.equal(one.text, two.text);
    assert.equal(one.response_metadata.finish_reason, "stop");
    assert.ok(one.usage_metadata.input_tokens > 0 && one.usage_metadata.output_tokens > 0);
  },

  async stream(model) {
    const plain = await chat(model).invoke(asked());
    const { pieces, whole } = await gather(await chat(model).stream(asked()));
    cells.inPieces(pieces, plain.text);
    assert.equal(whole.usage_metadata.total_tokens, plain.usage_metadata.total_tokens);
  },

  async tools(name) {
    const model = chat(name).bindTools(tools);
    const messages = [new HumanMessage(cells.lookup)];
    const first = await model.invoke(messages);
    cells.calledBoth(first.tool_calls);
    const { whole } = await gather(await model.stream(messages));
    cells.calledBoth(whole.tool_calls);
    await loop(model, messages, first);
  },

  async structured(model) {
    for (const method of ["jsonSchema", "functionCalling"]) {
      cells.Person.parse(await chat(model).withStructuredOutput(cells.Person, { name: "person", method }).invoke("Who is it?"));
    }
  },

  images: picture("data:image/png;base64," + cells.imageData, cells.sawData),
  image_addresses: picture(cells.imageAddress, cells.sawAddress),

  async responses(name) {
    const model = chat(name, { useResponsesApi: true }).bindTools(tools);
    const messages = [new HumanMessage(cells.lookup)];
    const first = await model.invoke(messages);
    cells.calledBoth(first.tool_calls);
    const last = await loop(model, messages, first);
    const next = await model.invoke([new HumanMessage("And so?")], { previous_response_id: last.response_metadata.id });
    assert.ok(next.text.length > 0);
    assert.ok(next.usage_metadata.input_tokens > last.usage_metadata.input_tokens);
  },

  async embeddings(model) {
    const vectors = await new OpenAIEmbeddings({ model, dimensions: 8, maxRetries: 0 }).embedDocuments(["one", "two"]);
    assert.deepEqual(vectors.map(({ length }) => length), [8, 8]);
  },
};

await cells.play({ "@langchain/openai": features });
