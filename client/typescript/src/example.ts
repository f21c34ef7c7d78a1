// Uses of the generated types, so that a change of the API that breaks callers is an error of the compiler.
import { Penstock, type JobCreate } from "./index.js";
import type { components, paths } from "./schema.js";

type Body<P extends keyof paths> = paths[P] extends { post: { requestBody: { content: { "application/json": infer B } } } } ? B : never;

export const chat: Body<"/v1/chat/completions"> = { model: "fast", messages: [{ role: "user", content: "Hello" }], top_k: 5 } as Body<"/v1/chat/completions">;
export const message: Body<"/v1/messages"> = { model: "fast", max_tokens: 20, messages: [{ role: "user", content: "Hello" }] };
export const embedding: Body<"/v1/embeddings"> = { model: "fast", input: ["a", "b"] };
export const prompts: JobCreate = { model: "fast", inputs: ["One", { custom_id: "two", body: "Two" }] };

export const prompted: Body<"/v1/chat/completions"> = { prompt: { name: "support/answer", variables: { question: "Why?" } } };
// @ts-expect-error: the messages of a chat are a list
export const wrongMessages: Body<"/v1/chat/completions"> = { model: "fast", messages: "Hello" };
// @ts-expect-error: a job has no field of this name
export const misspelt: JobCreate = { modle: "fast" };

export async function answers(client: Penstock): Promise<components["schemas"]["Result"][]> {
  const job = await client.submitJob(prompts);
  await client.waitJob(job.id);
  const all: components["schemas"]["Result"][] = [];
  for await (const result of client.results(job.id)) all.push(result);
  return all;
}
