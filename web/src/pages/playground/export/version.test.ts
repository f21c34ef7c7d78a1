import { expect, test } from "vitest";
import { versionOrder } from "./version";

const effective = { model: "fast", params: { temperature: 0 }, tools: [], responseFormat: null };
const messages = [{ role: "user", content: "{{q}}" }];

test("a version has what the column runs with", () => {
  expect(versionOrder("chat", { messages, inputSchema: null, effective, message: "shorter" })).toEqual({
    kind: "chat",
    messages,
    config: { model: "fast", temperature: 0 },
    message: "shorter",
  });
});

test("a prompt of kind text keeps its kind", () => {
  expect(versionOrder("text", { messages, inputSchema: { type: "object" }, effective, message: "" })).toEqual({
    kind: "text",
    text: "{{q}}",
    config: { model: "fast", temperature: 0 },
    input_schema: { type: "object" },
  });
  const two = [...messages, { role: "assistant", content: "x" }];
  expect(versionOrder("text", { messages: two, inputSchema: null, effective, message: "" })).toMatchObject({ kind: "chat", messages: two });
});
