import type { Schemas } from "@/api";

export type Explain = Schemas["Explain"];
export type ExplainTarget = Schemas["ExplainTarget"];

export const endpoints = [
  "/v1/chat/completions",
  "/v1/responses",
  "/v1/messages",
  "/v1/completions",
  "/v1/embeddings",
  "/v1/rerank",
] as const;
export type Endpoint = (typeof endpoints)[number];

/** What a call can ask of a target beyond text. */
export const needs = ["stream", "tools", "images", "schema"] as const;
export type Need = (typeof needs)[number];

export const needWords: Record<Need, string> = { stream: "Streaming", tools: "Tools", images: "An image", schema: "A JSON schema" };

/** The needs that a call of an endpoint can have. */
export function needsOf(endpoint: Endpoint): readonly Need[] {
  if (endpoint === "/v1/embeddings" || endpoint === "/v1/rerank") return [];
  if (endpoint === "/v1/completions") return ["stream"];
  if (endpoint === "/v1/messages") return ["stream", "tools", "images"];
  return needs;
}

export interface Question {
  endpoint: Endpoint;
  text: string;
  /** The length of the text in tokens, in the place of a text. */
  tokens?: number | undefined;
  /** The bound of the answer in tokens. */
  max?: number | undefined;
  needs: readonly Need[];
}

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";
const schema = { type: "object", properties: { answer: { type: "string" } }, required: ["answer"], additionalProperties: false };
const parameters = { type: "object", properties: { query: { type: "string" } } };

/** The body of a call that the server explains: like a real one, so that the same rules apply. */
export function bodyOf(question: Question): Record<string, unknown> {
  const text = question.tokens === undefined ? question.text : "word ".repeat(question.tokens);
  const has = (need: Need) => question.needs.includes(need) && needsOf(question.endpoint).includes(need);
  const body = bodies[question.endpoint](text, has, question.max);
  return has("stream") ? { ...body, stream: true } : body;
}

type Build = (text: string, has: (need: Need) => boolean, max: number | undefined) => Record<string, unknown>;

const bodies: Record<Endpoint, Build> = {
  "/v1/chat/completions": (text, has, max) => ({
    messages: [
      {
        role: "user",
        content: has("images")
          ? [
              { type: "text", text },
              { type: "image_url", image_url: { url: `data:image/png;base64,${pixel}` } },
            ]
          : text,
      },
    ],
    ...(has("tools") ? { tools: [{ type: "function", function: { name: "search", parameters } }] } : {}),
    ...(has("schema") ? { response_format: { type: "json_schema", json_schema: { name: "answer", schema, strict: true } } } : {}),
    ...(max ? { max_completion_tokens: max } : {}),
  }),
  "/v1/responses": (text, has, max) => ({
    input: has("images")
      ? [
          {
            role: "user",
            content: [
              { type: "input_text", text },
              { type: "input_image", image_url: `data:image/png;base64,${pixel}` },
            ],
          },
        ]
      : text,
    ...(has("tools") ? { tools: [{ type: "function", name: "search", parameters }] } : {}),
    ...(has("schema") ? { text: { format: { type: "json_schema", name: "answer", schema, strict: true } } } : {}),
    ...(max ? { max_output_tokens: max } : {}),
  }),
  "/v1/messages": (text, has, max) => ({
    max_tokens: max ?? 1024,
    messages: [
      {
        role: "user",
        content: has("images")
          ? [
              { type: "text", text },
              { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } },
            ]
          : text,
      },
    ],
    ...(has("tools") ? { tools: [{ name: "search", input_schema: parameters }] } : {}),
  }),
  "/v1/completions": (text, _has, max) => ({ prompt: text, ...(max ? { max_tokens: max } : {}) }),
  "/v1/embeddings": (text) => ({ input: text }),
  "/v1/rerank": (text) => ({ query: "question", documents: [text] }),
};

export interface Verdict {
  kind: "chosen" | "next" | "busy" | "excluded";
  /** The sentence about the target. */
  text: string;
}

/** Why a target is called or not. The server's reasons have no subject: "is out of order". */
export function verdictOf(target: ExplainTarget, explain: Pick<Explain, "chosen">): Verdict {
  if (target.excluded) return { kind: "excluded", text: reasonText(target.excluded) };
  if (target.no_capacity) return { kind: "busy", text: reasonText(target.no_capacity) };
  if (target.target === explain.chosen) return { kind: "chosen", text: "The call goes here." };
  return { kind: "next", text: "It can serve the call, and is tried if those before it fail." };
}

const verbs = /^(is|was|runs|rests|cannot|does|has|lacks|takes|may|needs|serves)\b/;

/** A reason of the server as a sentence. */
export function reasonText(reason: string): string {
  const sentence = verbs.test(reason) ? `It ${reason}` : reason.charAt(0).toUpperCase() + reason.slice(1);
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}

/** The targets in the order in which they would be tried; those that are excluded come last, in the model's order. */
export function inOrder(targets: readonly ExplainTarget[]): ExplainTarget[] {
  return [...targets].sort(
    (a, b) => (a.excluded ? Infinity : (a.place ?? Infinity)) - (b.excluded ? Infinity : (b.place ?? Infinity)) || 0,
  );
}
