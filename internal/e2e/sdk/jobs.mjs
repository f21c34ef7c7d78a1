// The SDK's own way to call what it has no method for: a job, submitted twice with one key.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.env.PENSTOCK_URL + "/v1", apiKey: process.env.PENSTOCK_API_KEY });
const headers = { Prefer: "wait=30", "Idempotency-Key": "sdk-job" };
const body = { model: "sim", input: "Hi from an SDK's job" };

const first = await client.post("/jobs", { body, headers });
const again = await client.post("/jobs", { body, headers });
let other;
try {
  await client.post("/jobs", { body: { ...body, input: "Something else" }, headers });
} catch (error) {
  other = { class: error.constructor.name, code: error.code };
}

console.log(JSON.stringify({
  status: first.status,
  content: first.result.response.body.choices[0].message.content,
  same: first.id === again.id,
  other,
}, null, 2));
