// The endpoints of OpenAI beside chat: embeddings, completions, and what is refused of responses.
import OpenAI from "openai";

const client = new OpenAI();
const embedded = await client.embeddings.create({ model: "sim", input: ["Hi", "from the SDK"], encoding_format: "float" });
const packed = await client.embeddings.create({ model: "sim", input: "Hi from the SDK" });

const completed = await client.completions.create({ model: "sim", prompt: "Hi from the SDK", max_tokens: 3 });
let text = "";
for await (const chunk of await client.completions.create({ model: "sim", prompt: "Hi from the SDK", max_tokens: 3, stream: true })) {
  text += chunk.choices[0]?.text ?? "";
}

const refused = {};
for (const [name, body] of Object.entries({
  previous_response_id: { input: "Hi", previous_response_id: "resp_1" },
})) {
  const error = await client.responses.create({ model: "sim", ...body }).catch((e) => e);
  refused[name] = { class: error.constructor.name, status: error.status, param: error.param, message: error.message };
}

console.log(JSON.stringify({
  embeddings: embedded.data.map(({ index, embedding }) => ({ index, numbers: embedding.length })),
  packed: { numbers: packed.data[0].embedding.length, kind: typeof packed.data[0].embedding[0] },
  usage: embedded.usage,
  completion: completed.choices[0],
  stream_is_the_same: text === completed.choices[0].text,
  refused,
}, null, 2));
