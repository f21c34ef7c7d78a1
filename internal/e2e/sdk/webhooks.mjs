// A receiver of webhooks that trusts what the SDKs verify and nothing else: the end of a response in the background, of
// a batch with a failure while the secret is being rotated, of a message batch that is cancelled, and of a response and a
// message batch that expire.
import http from "node:http";
import OpenAI, { toFile } from "openai";
import Anthropic from "@anthropic-ai/sdk";

const openai = new OpenAI();
const anthropic = new Anthropic();
const native = async (path, body) => {
  const answer = await fetch(process.env.PENSTOCK_URL + path, {
    method: "POST", body: JSON.stringify(body), headers: { authorization: `Bearer ${process.env.PENSTOCK_API_KEY}`, "content-type": "application/json" },
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
};

const waiting = [];
const arrived = [];
const receiver = http.createServer(async (request, response) => {
  let body = "";
  for await (const part of request.setEncoding("utf8")) body += part;
  response.writeHead(204).end();
  arrived.push({ body, headers: request.headers });
  waiting.shift()?.();
});
await new Promise((resolve) => receiver.listen(0, "127.0.0.1", resolve));
const next = async () => {
  if (arrived.length === 0) await new Promise((resolve) => waiting.push(resolve));
  return arrived.shift();
};
const verified = async ({ body, headers }, secret) => {
  const one = await openai.webhooks.unwrap(body, headers, secret).catch((error) => error.constructor.name);
  let other;
  try {
    other = anthropic.beta.webhooks.unwrap(body, { headers, key: secret });
  } catch (error) {
    other = error.constructor.name;
  }
  return { openai: one.type ?? one, anthropic: other.type ?? other, job: one.job_id, data: one.data };
};
const both = ({ openai, anthropic }) => ({ openai, anthropic });
const told = ({ openai, anthropic, data }) => ({ openai, anthropic, status: data.status, outcome: data.outcome });

const endpoint = await native("/v1/webhooks", { url: `http://127.0.0.1:${receiver.address().port}/hook`, events: ["job.finished"] });

const response = await openai.responses.create({ model: "sim", input: "Hi by webhook", background: true });
const ended = await next();
const first = await verified(ended, endpoint.secret);
const forged = await verified({ ...ended, body: ended.body.replace("succeeded", "failed") }, endpoint.secret);
const stale = await verified({ ...ended, headers: { ...ended.headers, "webhook-timestamp": "1700000000" } }, endpoint.secret);

const rotated = await native(`/v1/webhooks/${endpoint.id}/rotate`);
const line = (id, content) => JSON.stringify({
  custom_id: id, method: "POST", url: "/v1/chat/completions", body: { model: "sim", messages: [{ role: "user", content }] },
});
const lines = [line("good", "SDK hook good [sim:tokens=3]"), line("bad", "SDK hook bad [sim:fault=bad_request]")].join("\n") + "\n";
const file = await openai.files.create({ file: await toFile(Buffer.from(lines), "hook.jsonl"), purpose: "batch" });
const batch = await openai.batches.create({ input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" });
const mixed = await next();
const second = await verified(mixed, endpoint.secret);
const renewed = await verified(mixed, rotated.secret);

const messages = await anthropic.messages.batches.create({
  requests: [{ custom_id: "slow", params: { model: "sim", max_tokens: 16, messages: [{ role: "user", content: "SDK hook slow [sim:fault=hang]" }] } }],
});
await anthropic.messages.batches.cancel(messages.id);
const third = await verified(await next(), rotated.secret);

const window = { headers: { "x-penstock-window": "1s" } };
const late = await openai.responses.create({ model: "sim", input: "Hi, too late [sim:fault=hang]", background: true }, window);
const fourth = await verified(await next(), rotated.secret);
const lateMessages = await anthropic.messages.batches.create({
  requests: [{ custom_id: "late", params: { model: "sim", max_tokens: 16, messages: [{ role: "user", content: "SDK hook late [sim:fault=hang]" }] } }],
}, window);
const fifth = await verified(await next(), rotated.secret);
receiver.close();
receiver.closeAllConnections();

const same = (job, id) => job?.slice(job.indexOf("_")) === id.slice(id.indexOf("_"));
console.log(JSON.stringify({
  response: { ...told(first), same_id: same(first.job, response.id) },
  forged: both(forged),
  stale: both(stale),
  batch: { ...told(second), same_id: same(second.job, batch.id) },
  rotated: both(renewed),
  message_batch: { ...told(third), same_id: same(third.job, messages.id) },
  expired: { ...told(fourth), same_id: same(fourth.job, late.id) },
  message_batch_expired: { ...told(fifth), same_id: same(fifth.job, lateMessages.id) },
}, null, 2));
