import { shellWord } from "@/api/curl";
import type { Message, Params, Variables } from "../types";

/** A call of the gateway, as the code of an application makes it. */
export interface CodeCall {
  /** The address of the server, without a slash at its end. */
  server: string;
  /** null: the model of the prompt. */
  model: string | null;
  /** A saved prompt by its name. Otherwise the rendered messages stand in the code. */
  prompt: { name: string; label?: string; version?: number; variables: Variables } | null;
  messages: readonly Message[];
  params: Params;
  tools: readonly unknown[] | null;
  responseFormat: unknown;
}

export const languages = ["curl", "python", "typescript", "go"] as const;
export type Language = (typeof languages)[number];
export const languageNames: Record<Language, string> = { curl: "curl", python: "Python", typescript: "TypeScript", go: "Go" };

/** The code of a call. The key stays in the environment. */
export function codeOf(language: Language, call: CodeCall): string {
  return { curl, python, typescript, go }[language](call);
}

/** The members of the body beside model, messages and prompt. */
function others(call: CodeCall): Params {
  return {
    ...call.params,
    ...(call.tools && call.tools.length > 0 ? { tools: call.tools } : {}),
    ...(call.responseFormat == null ? {} : { response_format: call.responseFormat }),
  };
}

/** The body of POST /v1/chat/completions. A prompt brings its messages with it. */
export function bodyOf(call: CodeCall): Record<string, unknown> {
  return {
    ...(call.model === null ? {} : { model: call.model }),
    ...(call.prompt ? { prompt: call.prompt } : { messages: call.messages }),
    ...others(call),
  };
}

function curl(call: CodeCall): string {
  return [
    `curl ${shellWord(`${call.server}/v1/chat/completions`)}`,
    `-H "Authorization: Bearer $PENSTOCK_KEY"`,
    "-H 'Content-Type: application/json'",
    `-d ${shellWord(JSON.stringify(bodyOf(call), null, 2))}`,
  ].join(" \\\n  ");
}

/** Members that the SDK has no argument for go into extra_body. */
const pythonKnown = new Set([
  "temperature",
  "max_tokens",
  "max_completion_tokens",
  "top_p",
  "seed",
  "stop",
  "reasoning_effort",
  "frequency_penalty",
  "presence_penalty",
  "logit_bias",
  "logprobs",
  "top_logprobs",
  "n",
  "parallel_tool_calls",
  "tool_choice",
  "tools",
  "response_format",
  "metadata",
  "user",
  "service_tier",
  "store",
  "verbosity",
]);

function python(call: CodeCall): string {
  const rest = Object.entries(others(call));
  const extra = {
    ...(call.prompt ? { prompt: call.prompt } : {}),
    ...Object.fromEntries(rest.filter(([name]) => !pythonKnown.has(name))),
  };
  const args = [
    ["model", call.model ?? ""],
    ["messages", call.prompt ? [] : call.messages],
    ...rest.filter(([name]) => pythonKnown.has(name)),
    ...(Object.keys(extra).length > 0 ? [["extra_body", extra] as const] : []),
  ] as [string, unknown][];
  return [
    "import os",
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url=${literal(`${call.server}/v1`)}, api_key=os.environ["PENSTOCK_KEY"])`,
    "",
    "answer = client.chat.completions.create(",
    ...args.map(([name, value]) => `    ${name}=${pythonValue(value, 1)},`),
    ")",
    "print(answer.choices[0].message.content)",
  ].join("\n");
}

function typescript(call: CodeCall): string {
  const body = {
    model: call.model ?? "",
    messages: call.prompt ? [] : call.messages,
    ...others(call),
    ...(call.prompt ? { prompt: call.prompt } : {}),
  };
  // The types of the SDK know no prompt: a cast lets the member through.
  const cast = call.prompt ? " as OpenAI.ChatCompletionCreateParamsNonStreaming" : "";
  return [
    `import OpenAI from "openai";`,
    "",
    `const client = new OpenAI({ baseURL: ${literal(`${call.server}/v1`)}, apiKey: process.env.PENSTOCK_KEY });`,
    "",
    `const answer = await client.chat.completions.create(${JSON.stringify(body, null, 2)}${cast});`,
    "console.log(answer.choices[0]?.message.content);",
  ].join("\n");
}

function go(call: CodeCall): string {
  const text = JSON.stringify(bodyOf(call), null, 2);
  // A raw string cannot hold a backquote; JSON can spell it otherwise.
  const body = text.replaceAll("`", "\\u0060");
  return `package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
)

const body = \`${body}\`

func main() {
	req, err := http.NewRequest("POST", ${literal(`${call.server}/v1/chat/completions`)}, strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+os.Getenv("PENSTOCK_KEY"))
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		message, _ := io.ReadAll(resp.Body)
		log.Fatalf("%s: %s", resp.Status, message)
	}
	var answer struct {
		Choices []struct {
			Message struct{ Content string }
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		log.Fatal(err)
	}
	for _, choice := range answer.Choices {
		fmt.Println(choice.Message.Content)
	}
}`;
}

/** A string literal of Python, TypeScript and Go alike. */
function literal(text: string): string {
  return JSON.stringify(text);
}

/** A JSON value as Python writes it. */
export function pythonValue(value: unknown, level = 0): string {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = "    ".repeat(level + 1);
  const end = "    ".repeat(level);
  const lines = Array.isArray(value)
    ? value.map((v) => pythonValue(v, level + 1))
    : Object.entries(value).map(([name, v]) => `${JSON.stringify(name)}: ${pythonValue(v, level + 1)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (lines.length === 0) return open + close;
  return `${open}\n${lines.map((line) => `${inner}${line},`).join("\n")}\n${end}${close}`;
}
