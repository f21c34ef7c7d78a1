import type { Server } from "./server";

/** Work in several states. Pages with needs of their own add to it in their test. */
export async function seed(s: Server): Promise<void> {
  const submit = (body: unknown, wait = true, path = "/v1/jobs") =>
    fetch(`${s.url}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${s.key}`, "content-type": "application/json", ...(wait ? { prefer: "wait=10" } : {}) },
      body: JSON.stringify(body),
    }).then(async (r) => {
      if (!r.ok) throw new Error(`seeding: ${r.status} ${await r.text()}`);
    });
  const lines = [1, 2].map((n) =>
    JSON.stringify({
      custom_id: `row-${n}`,
      method: "POST",
      url: "/v1/chat/completions",
      body: { model: "sim", messages: [{ role: "user", content: "Hi" }] },
    }),
  );
  const form = new FormData();
  form.set("purpose", "batch");
  form.set("file", new Blob([`${lines.join("\n")}\n`]), "rows.jsonl");
  const uploaded = await fetch(`${s.url}/v1/files`, { method: "POST", headers: { authorization: `Bearer ${s.key}` }, body: form });
  const { id } = (await uploaded.json()) as { id: string };
  await seedPrompts(s);
  await Promise.all([
    submit({ input_file_id: id, endpoint: "/v1/chat/completions", completion_window: "24h" }, false, "/v1/batches"),
    submit({ model: "sim", messages: [{ role: "user", content: "Hi" }] }, false, "/v1/chat/completions"),
    submit({ model: "sim", input: "Hi", tags: { env: "prod" } }),
    submit({ model: "sim", input: "Hello", lane: "bulk", tags: { env: "test" } }),
    submit({ model: "sim", input: "[sim:fault=bad_request]" }),
    submit({ model: "sim", input: "[sim:fault=bad_request] again" }),
    submit({ model: "sim", input: "Good evening", lane: "realtime", tags: { note: '<img src=x onerror="alert(1)">' } }),
  ]);
}

/** A prompt that includes another, with a label behind the newest version, and a draft. */
async function seedPrompts(s: Server): Promise<void> {
  const send = async (method: string, path: string, body: unknown) => {
    const headers = { authorization: `Bearer ${s.key}`, "content-type": "application/json" };
    const answer = await fetch(`${s.url}/v1/prompts/${path}`, { method, headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`seeding ${path}: ${answer.status} ${await answer.text()}`);
  };
  const chat = (system: string) => ({
    kind: "chat",
    messages: [
      { role: "system", content: system },
      { role: "user", content: "{{question}}" },
    ],
    config: {
      model: "sim",
      temperature: 0.2,
      tools: [{ type: "function", function: { name: "find_order", parameters: { type: "object" } } }],
    },
  });
  await send("POST", "answers/tone/versions", { kind: "text", text: "Be {{tone}} and brief.", message: "first words" });
  await send("PUT", "answers/tone/labels/production", { version: 1 });
  await send("POST", "answers/support/versions", { ...chat("You answer as {{brand}}."), message: "first version" });
  await send("POST", "answers/support/versions", { ...chat("You answer as {{brand}}. {{> answers/tone}}"), message: "tone" });
  await send("PUT", "answers/support/labels/production", { version: 1, reason: "first release" });
  await send("PUT", "answers/support/draft", { ...chat("You answer as {{brand}}. {{> answers/tone}} Never guess."), base: 2 });
}
