// A plain chat, as the first thing that people try.
import OpenAI from "openai";

const client = new OpenAI({
  baseURL: process.env.PENSTOCK_URL + "/v1",
  apiKey: process.env.PENSTOCK_API_KEY,
});

const { data, response } = await client.chat.completions
  .create({ model: "sim", messages: [{ role: "user", content: "Hi from the SDK" }] })
  .withResponse();

console.log(JSON.stringify({
  message: data.choices[0].message,
  finish_reason: data.choices[0].finish_reason,
  usage: { prompt_tokens: data.usage.prompt_tokens, completion_tokens: data.usage.completion_tokens },
  request_id: data._request_id,
  target: response.headers.get("x-penstock-target"),
}, null, 2));
