// The models, listed and one by one.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.env.PENSTOCK_URL + "/v1", apiKey: process.env.PENSTOCK_API_KEY });

const listed = [];
for await (const model of client.models.list()) listed.push(model);
const one = await client.models.retrieve("sim");

console.log(JSON.stringify({ listed, one }, null, 2));
