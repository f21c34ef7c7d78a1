// A caller who aborts a stream, and one who loses patience.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.env.PENSTOCK_URL + "/v1", apiKey: process.env.PENSTOCK_API_KEY, maxRetries: 0 });
const question = (content) => ({ model: "sim", messages: [{ role: "user", content }] });

const { data: stream, request_id } = await client.chat.completions
  .create({ ...question("SDK aborts [sim:fault=stall]"), stream: true })
  .withResponse();
for await (const chunk of stream) {
  stream.controller.abort();
  break;
}

let impatient = "no error";
try {
  await client.chat.completions.create(question("SDK waits [sim:fault=hang]"), { timeout: 2000 });
} catch (error) {
  impatient = error.constructor.name;
}

console.log(JSON.stringify({ request_id, impatient }, null, 2));
