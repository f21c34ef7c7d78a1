// Callers at once, each with some calls one after the other, past a limit per minute. The SDK has its default retries.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.env.PENSTOCK_URL + "/v1", apiKey: process.env.PENSTOCK_API_KEY });
const times = [];
const failures = [];

async function caller(n) {
  for (let i = 0; i < Number(process.env.CALLS); i++) {
    try {
      await client.chat.completions.create({ model: "fast", messages: [{ role: "user", content: `Call ${i} of ${n}` }] });
      times.push(Date.now());
    } catch (error) {
      failures.push(`${error.constructor.name}: ${error.message}`);
    }
  }
}

const began = Date.now();
await Promise.all(Array.from({ length: Number(process.env.CALLERS) }, (_, n) => caller(n)));
console.log(JSON.stringify({ times, failures, took_ms: Date.now() - began }));
