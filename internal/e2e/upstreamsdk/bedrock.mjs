// AWS's own SDK drives the simulator, which speaks Bedrock's Converse API and its event stream.
import assert from "node:assert/strict";
import { BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand } from "@aws-sdk/client-bedrock-runtime";
import { NodeHttpHandler } from "@smithy/node-http-handler";

const client = new BedrockRuntimeClient({
  region: "eu-central-1",
  endpoint: process.env.SIM_URL,
  credentials: { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret", sessionToken: "token" },
  requestHandler: new NodeHttpHandler(), // the simulator has no TLS, and so no HTTP/2
  maxAttempts: 1,
});
const ask = (text, rest) => ({ modelId: "anthropic.sim-large-v1:0", messages: [{ role: "user", content: [{ text }] }], ...rest });
const converse = (input) => client.send(new ConverseCommand(input));
const stream = async (input) => {
  const seen = { text: "", input: "", events: [] };
  for await (const event of (await client.send(new ConverseStreamCommand(input))).stream) {
    const [name] = Object.keys(event);
    if (seen.events.at(-1) !== name) seen.events.push(name);
    seen.text += event.contentBlockDelta?.delta.text ?? "";
    seen.input += event.contentBlockDelta?.delta.toolUse?.input ?? "";
    seen.stopReason = event.messageStop?.stopReason ?? seen.stopReason;
    seen.usage = event.metadata?.usage ?? seen.usage;
  }
  return seen;
};
const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tools = [{ toolSpec: { name: "weather", description: "Tells the weather.", inputSchema: { json: schema } } }];

const plain = await converse(ask("Hi", { system: [{ text: "Be brief." }], inferenceConfig: { maxTokens: 100 } }));
assert.ok(plain.output.message.content[0].text.length > 0);
assert.equal(plain.stopReason, "end_turn");
assert.ok(plain.usage.inputTokens > 0 && plain.usage.outputTokens > 0);
assert.ok(plain.$metadata.requestId);

const streamed = await stream(ask("Hi", { system: [{ text: "Be brief." }], inferenceConfig: { maxTokens: 100 } }));
assert.equal(streamed.text, plain.output.message.content[0].text);
assert.deepEqual(streamed.events, ["messageStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata"]);
assert.equal(streamed.stopReason, "end_turn");
assert.deepEqual(streamed.usage, plain.usage);

assert.equal((await converse(ask("Hi", { inferenceConfig: { maxTokens: 2 } }))).stopReason, "max_tokens");

const forced = ask("Weather?", { toolConfig: { tools, toolChoice: { any: {} } } });
const called = await converse(forced);
const { toolUse } = called.output.message.content.find((block) => block.toolUse);
assert.equal(toolUse.name, "weather");
assert.equal(typeof toolUse.input.city, "string");
const inPieces = await stream(forced);
assert.deepEqual(JSON.parse(inPieces.input), toolUse.input);
assert.equal(inPieces.stopReason, "tool_use");
const answered = await converse({
  ...ask("Weather?"),
  toolConfig: { tools },
  messages: [
    ...forced.messages,
    called.output.message,
    { role: "user", content: [{ toolResult: { toolUseId: toolUse.toolUseId, content: [{ text: "12 degrees" }] } }] },
  ],
});
assert.equal(answered.stopReason, "end_turn");

const textFormat = { type: "json_schema", structure: { jsonSchema: { schema: JSON.stringify(schema), name: "city" } } };
const shaped = await converse(ask("A city", { outputConfig: { textFormat } }));
assert.equal(typeof JSON.parse(shaped.output.message.content[0].text).city, "string");

const thought = await converse(ask("Think", { additionalModelRequestFields: { thinking: { type: "enabled", budget_tokens: 1024 } } }));
assert.ok(thought.output.message.content[0].reasoningContent.reasoningText.text.length > 0);

const picture = { image: { format: "png", source: { bytes: Buffer.from("hi") } } };
const seen = await converse({ ...ask(""), messages: [{ role: "user", content: [{ text: "What is it?" }, picture] }] });
assert.match(seen.output.message.content[0].text, /image/);

const refused = await converse(ask("No [sim:fault=bad_request]")).catch((error) => error);
assert.equal(refused.name, "ValidationException");
assert.equal(refused.$metadata.httpStatusCode, 400);
const throttled = await converse(ask("Busy [sim:fault=rate_limit]")).catch((error) => error);
assert.equal(throttled.name, "ThrottlingException");
const broken = await stream(ask("Broken [sim:fault=error_mid_stream]")).catch((error) => error);
assert.equal(broken.name, "ServiceUnavailableException");
console.log("ok");
