// Google's own SDK drives the simulator, which speaks the Gemini API.
import assert from "node:assert/strict";
import { FunctionCallingConfigMode, GoogleGenAI } from "@google/genai";

const ai = new GoogleGenAI({ apiKey: "any", httpOptions: { baseUrl: process.env.SIM_URL } });
const model = "sim-large";
const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tools = [{ functionDeclarations: [{ name: "weather", description: "Tells the weather.", parametersJsonSchema: schema }] }];
const any = { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY } };

const plain = await ai.models.generateContent({ model, contents: "Hi", config: { systemInstruction: "Be brief.", maxOutputTokens: 100 } });
assert.ok(plain.text.length > 0);
assert.equal(plain.candidates[0].finishReason, "STOP");
assert.ok(plain.usageMetadata.promptTokenCount > 0 && plain.usageMetadata.candidatesTokenCount > 0);

let streamed = "";
let last;
for await (const chunk of await ai.models.generateContentStream({ model, contents: "Hi", config: { systemInstruction: "Be brief.", maxOutputTokens: 100 } })) {
  streamed += chunk.text ?? "";
  last = chunk;
}
assert.equal(streamed, plain.text);
assert.equal(last.candidates[0].finishReason, "STOP");

const cut = await ai.models.generateContent({ model, contents: "Hi", config: { maxOutputTokens: 2 } });
assert.equal(cut.candidates[0].finishReason, "MAX_TOKENS");

const called = await ai.models.generateContent({ model, contents: "Weather?", config: { tools, toolConfig: any } });
const [call] = called.functionCalls;
assert.equal(call.name, "weather");
assert.equal(typeof call.args.city, "string");
const answered = await ai.models.generateContent({
  model,
  contents: [
    { role: "user", parts: [{ text: "Weather?" }] },
    called.candidates[0].content,
    { role: "user", parts: [{ functionResponse: { id: call.id, name: call.name, response: { degrees: 12 } } }] },
  ],
  config: { tools },
});
assert.ok(answered.text.length > 0);

const shaped = await ai.models.generateContent({ model, contents: "A city", config: { responseMimeType: "application/json", responseJsonSchema: schema } });
assert.equal(typeof JSON.parse(shaped.text).city, "string");

const thought = await ai.models.generateContent({ model, contents: "Think", config: { thinkingConfig: { thinkingBudget: 1024, includeThoughts: true } } });
assert.ok(thought.candidates[0].content.parts.some((part) => part.thought));
assert.ok(thought.usageMetadata.thoughtsTokenCount > 0);

const picture = { inlineData: { mimeType: "image/png", data: "aGk=" } };
assert.match((await ai.models.generateContent({ model, contents: ["What is it?", picture] })).text, /image/);

assert.ok((await ai.models.countTokens({ model, contents: "How long is this?" })).totalTokens > 0);

const vectors = await ai.models.embedContent({ model, contents: ["one", "two"], config: { outputDimensionality: 8 } });
assert.equal(vectors.embeddings.length, 2);
assert.equal(vectors.embeddings[0].values.length, 8);

const failed = await ai.models.generateContent({ model, contents: "No [sim:fault=bad_request]" }).catch((error) => error);
assert.equal(failed.status, 400);
console.log("ok");
