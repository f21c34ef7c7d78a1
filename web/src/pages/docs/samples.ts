import { shellWord } from "@/api/curl";
import { addressOf, headersOf, takesForm, type Values } from "./call";
import type { Operation } from "./spec";

export interface SampleCall {
  op: Operation;
  server: string;
  values: Values;
  body: unknown;
}

/** Operations that the SDKs of vendors have a method for: the method, and whose SDK it is. */
const sdkMethods: Record<string, { sdk: "openai" | "anthropic"; method: string }> = {
  postChatCompletions: { sdk: "openai", method: "chat.completions.create" },
  postEmbeddings: { sdk: "openai", method: "embeddings.create" },
  postResponses: { sdk: "openai", method: "responses.create" },
  getModels: { sdk: "openai", method: "models.list" },
  postMessages: { sdk: "anthropic", method: "messages.create" },
};

export function curlSample({ op, server, values, body }: SampleCall): string {
  const method = op.method === "GET" ? "" : ` -X ${op.method}`;
  const lines = [`curl${method} ${shellWord(server + addressOf(op, values))}`];
  if (op.security?.length !== 0) lines.push(`-H "Authorization: Bearer $PENSTOCK_KEY"`);
  for (const [name, value] of Object.entries(headersOf(op, values))) lines.push(`-H ${shellWord(`${name}: ${value}`)}`);
  if (takesForm(op)) lines.push(...formFields(op).map((f) => `-F ${f.file ? `${f.name}=@${f.value}` : `${f.name}=${f.value}`}`));
  else if (body !== undefined) lines.push("-H 'Content-Type: application/json'", `-d ${shellWord(JSON.stringify(body, null, 2))}`);
  return lines.join(" \\\n  ");
}

export function pythonSample(call: SampleCall): string {
  const { op, server, values, body } = call;
  const sdk = sdkMethods[op.operationId];
  if (sdk) return pythonSDK(sdk, server, body);
  const lines = [
    "import os",
    "import requests",
    "",
    `answer = requests.${op.method.toLowerCase()}(`,
    `    ${python(server + addressOf(op, values))},`,
  ];
  const headers = Object.entries(headersOf(op, values)).map(([name, value]) => `${python(name)}: ${python(value)}`);
  const key = `"Authorization": f"Bearer {os.environ['PENSTOCK_KEY']}"`;
  if (op.security?.length !== 0) headers.unshift(key);
  if (headers.length > 0) lines.push(`    headers={${headers.join(", ")}},`);
  if (takesForm(op)) lines.push(...pythonForm(op));
  else if (body !== undefined) lines.push(`    json=${python(body, 1)},`);
  return [...lines, ")", "answer.raise_for_status()", "print(answer.text)"].join("\n");
}

function pythonSDK({ sdk, method }: { sdk: "openai" | "anthropic"; method: string }, server: string, body: unknown): string {
  const [type, base] = sdk === "openai" ? ["OpenAI", `${server}/v1`] : ["Anthropic", server];
  const args = Object.entries((body ?? {}) as Record<string, unknown>).map(([name, value]) => `    ${name}=${python(value, 1)},`);
  return [
    "import os",
    `from ${sdk} import ${type}`,
    "",
    `client = ${type}(base_url=${python(base)}, api_key=os.environ["PENSTOCK_KEY"])`,
    args.length > 0 ? `answer = client.${method}(\n${args.join("\n")}\n)` : `answer = client.${method}()`,
    "print(answer)",
  ].join("\n");
}

export function typescriptSample(call: SampleCall): string {
  const { op, server, values, body } = call;
  const sdk = sdkMethods[op.operationId];
  if (sdk) return typescriptSDK(sdk, server, body);
  const headers: string[] = Object.entries(headersOf(op, values)).map(
    ([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`,
  );
  if (op.security?.length !== 0) headers.unshift(`Authorization: \`Bearer \${process.env.PENSTOCK_KEY}\``);
  const form = takesForm(op);
  if (body !== undefined && !form) headers.push(`"Content-Type": "application/json"`);
  const lines = form
    ? [
        "const form = new FormData();",
        ...formFields(op).map((f) => `form.append(${JSON.stringify(f.name)}, ${f.file ? "file" : JSON.stringify(f.value)});`),
      ]
    : [];
  lines.push(`const answer = await fetch(${JSON.stringify(server + addressOf(op, values))}, {`);
  if (op.method !== "GET") lines.push(`  method: "${op.method}",`);
  if (headers.length > 0) lines.push(`  headers: { ${headers.join(", ")} },`);
  if (form) lines.push("  body: form,");
  else if (body !== undefined) lines.push(`  body: JSON.stringify(${indent(JSON.stringify(body, null, 2), "  ")}),`);
  return [...lines, "});", "if (!answer.ok) throw new Error(await answer.text());", "console.log(await answer.text());"].join("\n");
}

function typescriptSDK({ sdk, method }: { sdk: "openai" | "anthropic"; method: string }, server: string, body: unknown): string {
  const [type, base] = sdk === "openai" ? ["OpenAI", `${server}/v1`] : ["Anthropic", server];
  return [
    `import ${type} from "${sdk === "openai" ? "openai" : "@anthropic-ai/sdk"}";`,
    "",
    `const client = new ${type}({ baseURL: ${JSON.stringify(base)}, apiKey: process.env.PENSTOCK_KEY });`,
    `const answer = await client.${method}(${body === undefined ? "" : JSON.stringify(body, null, 2)});`,
    "console.log(answer);",
  ].join("\n");
}

interface FormField {
  name: string;
  value: string;
  file: boolean;
}

/** The required fields of a form. `file` and `data` hold bytes. */
function formFields(op: Operation): FormField[] {
  const bytes = op.path.endsWith("/parts") ? "data" : "file";
  return bytes === "data"
    ? [{ name: "data", value: "part.bin", file: true }]
    : [
        { name: "purpose", value: "batch", file: false },
        { name: "file", value: "requests.jsonl", file: true },
      ];
}

function pythonForm(op: Operation): string[] {
  const fields = formFields(op);
  const files = fields.filter((f) => f.file).map((f) => `${python(f.name)}: open(${python(f.value)}, "rb")`);
  const data = fields.filter((f) => !f.file).map((f) => `${python(f.name)}: ${python(f.value)}`);
  return [...(data.length > 0 ? [`    data={${data.join(", ")}},`] : []), `    files={${files.join(", ")}},`];
}

/** A JSON value as Python writes it. */
export function python(value: unknown, level = 0): string {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = "    ".repeat(level + 1);
  const end = "    ".repeat(level);
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return `[\n${value.map((v) => `${inner}${python(v, level + 1)},`).join("\n")}\n${end}]`;
  }
  const entries = Object.entries(value);
  if (entries.length === 0) return "{}";
  return `{\n${entries.map(([k, v]) => `${inner}${JSON.stringify(k)}: ${python(v, level + 1)},`).join("\n")}\n${end}}`;
}

function indent(text: string, by: string): string {
  return text.replaceAll("\n", `\n${by}`);
}
