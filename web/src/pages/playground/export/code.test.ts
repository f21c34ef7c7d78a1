import { expect, test } from "vitest";
import { bodyOf, type CodeCall, codeOf, languages, pythonValue } from "./code";

const call: CodeCall = {
  server: "https://models.example.com/penstock",
  model: "fast",
  prompt: null,
  messages: [{ role: "user", content: "It's `late`.\nWhy?" }],
  params: { temperature: 0.2, stop: ["END"], top_k: 4 },
  tools: [{ type: "function", function: { name: "get_weather" } }],
  responseFormat: null,
};
const named: CodeCall = {
  ...call,
  prompt: { name: "support/answer", label: "production", variables: { vip: true, question: "Why?" } },
  messages: [],
  params: { temperature: 0.2 },
  tools: null,
};

test("the body has messages, or a prompt by its name", () => {
  expect(bodyOf(call)).toEqual({
    model: "fast",
    messages: call.messages,
    temperature: 0.2,
    stop: ["END"],
    top_k: 4,
    tools: call.tools,
  });
  expect(bodyOf({ ...named, model: null })).toEqual({ prompt: named.prompt, temperature: 0.2 });
});

test("curl quotes the body for the shell, and keeps the key in the environment", () => {
  const code = codeOf("curl", call);
  expect(code).toContain("https://models.example.com/penstock/v1/chat/completions");
  expect(code).toContain('-H "Authorization: Bearer $PENSTOCK_KEY"');
  expect(code).toContain("It'\\''s `late`.\\nWhy?");
  const body = /-d '(.*)'$/s.exec(code)?.[1]?.replaceAll(`'\\''`, "'");
  expect(JSON.parse(body ?? "")).toEqual(bodyOf(call));
});

test("Python: unknown members and prompts go into extra_body", () => {
  expect(codeOf("python", named)).toBe(`import os
from openai import OpenAI

client = OpenAI(base_url="https://models.example.com/penstock/v1", api_key=os.environ["PENSTOCK_KEY"])

answer = client.chat.completions.create(
    model="fast",
    messages=[],
    temperature=0.2,
    extra_body={
        "prompt": {
            "name": "support/answer",
            "label": "production",
            "variables": {
                "vip": True,
                "question": "Why?",
            },
        },
    },
)
print(answer.choices[0].message.content)`);
  const code = codeOf("python", call);
  expect(code).toContain('    extra_body={\n        "top_k": 4,\n    },');
  expect(code).toContain('    stop=[\n        "END",\n    ],');
});

test("TypeScript: a cast lets the prompt through", () => {
  const code = codeOf("typescript", named);
  expect(code).toContain('baseURL: "https://models.example.com/penstock/v1", apiKey: process.env.PENSTOCK_KEY');
  expect(code).toContain("} as OpenAI.ChatCompletionCreateParamsNonStreaming);");
  expect(codeOf("typescript", call)).not.toContain(" as ");
});

test("Go: the raw string holds no backquote", () => {
  const code = codeOf("go", call);
  const body = /const body = `([^`]*)`/.exec(code)?.[1];
  expect(JSON.parse(body ?? "")).toEqual(bodyOf(call));
});

test("no language has a key in its code", () => {
  for (const language of languages) expect(codeOf(language, call)).toContain("PENSTOCK_KEY");
});

test("values of Python", () => {
  expect(pythonValue({ a: [], b: null, c: [1, false] })).toBe(
    '{\n    "a": [],\n    "b": None,\n    "c": [\n        1,\n        False,\n    ],\n}',
  );
});
