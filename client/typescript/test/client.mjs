// Runs the client against a real server. The environment names it: PENSTOCK_URL and PENSTOCK_API_KEY.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { Penstock, PenstockError, ConnectionError, verifyWebhook } from "../dist/index.js";
import { answers } from "../dist/example.js";

const options = { url: process.env.PENSTOCK_URL, apiKey: process.env.PENSTOCK_API_KEY };
const client = new Penstock(options);

// A job with several inputs: submitted, waited for, read in both orders.
assert.equal((await answers(client)).length, 2);
const job = await client.submitJob({ model: "sim", inputs: ["One", "Two", "Three"], tags: { team: "search" } });
const done = await client.waitJob(job.id);
assert.equal(done.outcome, "all_succeeded");
const results = [];
for await (const result of client.results(job.id, { order: "input" })) results.push(result);
assert.deepEqual(results.map((r) => r.index), [0, 1, 2]);
const rest = [];
for await (const result of client.results(job.id, { order: "input", after: 1 })) rest.push(result.index);
assert.deepEqual(rest, [2]);
const listed = [];
for await (const one of client.listJobs({ tag: "team:search", limit: "1" })) listed.push(one.id);
assert.deepEqual(listed, [job.id]);

// The same key finds the same job, also when the answer to the first submit was lost.
let lost = 0;
const flaky = new Penstock({ ...options, fetch: async (...args) => {
  const answer = await fetch(...args);
  if (lost++ === 0) throw new TypeError("the answer was lost");
  return answer;
} });
const once = await flaky.submitJob({ model: "sim", input: "Only once" }, { idempotencyKey: "ts-once", waitSeconds: 30 });
const again = await client.submitJob({ model: "sim", input: "Only once" }, { idempotencyKey: "ts-once" });
assert.equal(lost, 2);
assert.equal(once.id, again.id);
assert.equal(once.status, "succeeded");

// A stream of results that breaks in the middle is taken up, and yields each result once.
let cuts = 0;
const cut = new Penstock({ ...options, fetch: async (url, init) => {
  const answer = await fetch(url, init);
  if (!String(url).includes("/results") || cuts++ > 0) return answer;
  const text = await answer.text();
  const half = text.slice(0, text.indexOf("\n") + 20);
  return new Response(new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode(half)); c.close(); } }));
} });
const resumed = [];
for await (const result of cut.results(job.id)) resumed.push(result.index);
assert.equal(cuts, 2);
assert.deepEqual(resumed.toSorted(), [0, 1, 2]);

// Errors name the field, and are not retried.
const wrong = await client.submitJob({ model: "sim", prompt: "x" }).catch((e) => e);
assert.ok(wrong instanceof PenstockError && wrong.status === 400 && /a plain prompt goes into input/.test(wrong.message));
const nowhere = new Penstock({ url: "http://127.0.0.1:1", apiKey: "x", maxTries: 1 });
const unreachable = await nowhere.job("job_1").catch((e) => e);
assert.ok(unreachable instanceof ConnectionError && /ECONNREFUSED|bad port/.test(unreachable.message), unreachable.message);
assert.throws(() => new Penstock({ url: "127.0.0.1:8080", apiKey: "x" }), /url must look like http:\/\/127.0.0.1:8080, not "127.0.0.1:8080"/);
assert.throws(() => new Penstock({ url: options.url, apiKey: undefined }), /apiKey is missing/);

// Webhooks: a good signature passes; another body, another secret and an old message do not.
const secret = "whsec_" + Buffer.from("a secret of some length").toString("base64");
const body = '{"type":"job.finished"}';
const now = Math.floor(Date.now() / 1000);
const sign = (text, at) => "v1," + createHmac("sha256", "a secret of some length").update(`evt_1.${at}.${text}`).digest("base64");
const headers = { "webhook-id": "evt_1", "webhook-timestamp": String(now), "webhook-signature": "v1,AAAA " + sign(body, now) };
assert.deepEqual(await verifyWebhook(body, headers, secret), { type: "job.finished" });
assert.deepEqual(await verifyWebhook(body, new Headers(headers), secret), { type: "job.finished" });
await assert.rejects(verifyWebhook(body + " ", headers, secret));
await assert.rejects(verifyWebhook(body, headers, "whsec_AAAA"));
const old = now - 1000;
await assert.rejects(verifyWebhook(body, { ...headers, "webhook-timestamp": String(old), "webhook-signature": sign(body, old) }, secret));
console.log("ok");
