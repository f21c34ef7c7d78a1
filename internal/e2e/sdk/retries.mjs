// The SDK retries what may succeed later, when it may, and nothing else.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.env.PENSTOCK_URL + "/v1", apiKey: process.env.PENSTOCK_API_KEY, maxRetries: 2 });

async function timed(content) {
  const began = performance.now();
  let outcome;
  try {
    const completion = await client.chat.completions.create({ model: "sim", messages: [{ role: "user", content }] });
    outcome = completion.choices[0].finish_reason;
  } catch (error) {
    outcome = error.constructor.name;
  }
  // We say to wait a second when we are busy. The SDK on its own would come back after half of one.
  return { outcome, waited: performance.now() - began >= 950 };
}

console.log(JSON.stringify({
  busy: await timed("SDK retries busy [sim:fault=overloaded times=1]"),
  broken: (await timed("SDK retries broken [sim:fault=server_error times=1]")).outcome,
  refused: await timed("SDK retries refused [sim:fault=bad_request]"),
  vain: await timed("SDK retries vain [sim:fault=final]"),
  unpaid: await timed("SDK retries unpaid [sim:fault=quota]"),
}, null, 2));
