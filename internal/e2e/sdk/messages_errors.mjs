// Every class of error that callers of Anthropic's SDK tell apart.
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ maxRetries: 0 });
const ask = (content, rest) => client.messages.create({ model: "claude", max_tokens: 16, messages: [{ role: "user", content }], ...rest });
const drain = async (stream) => {
  for await (const _ of await stream);
};

const attempts = {
  "an unknown key": () => new Anthropic({ apiKey: "psk_unknown", maxRetries: 0 }).models.list(),
  "an unknown model": () => ask("Hi", { model: "nobody" }),
  "a model that is not listed": () => client.models.retrieve("nobody"),
  "a body that we refuse": () => ask("Hi", { max_tokens: -1 }),
  "a body that the upstream refuses": () => ask("Hi", { messages: [] }),
  "an upstream that fails": () => ask("SDK [sim:fault=server_error]"),
  "an upstream that is busy": () => ask("SDK [sim:fault=overloaded]"),
  "an upstream that fails before the first event": () => drain(ask("SDK [sim:fault=error_in_200]", { stream: true })),
  "an upstream that fails in the middle": () => drain(ask("SDK [sim:tokens=2 fault=disconnect]", { stream: true })),
};

const met = {};
for (const [name, attempt] of Object.entries(attempts)) {
  try {
    await attempt();
    met[name] = "no error";
  } catch (error) {
    const { status, type, requestID, message } = error;
    met[name] = { class: error.constructor.name, status, type, request_id: requestID, message };
  }
}

// The SDK tries again by itself what may succeed later.
const patient = await new Anthropic({ maxRetries: 1 }).messages.create({
  model: "claude", max_tokens: 16, messages: [{ role: "user", content: "SDK messages busy [sim:fault=overloaded times=1]" }],
});
met["an upstream that is busy once"] = patient.stop_reason;

// It does not where it is told that this is in vain.
try {
  await new Anthropic({ maxRetries: 2 }).messages.create({
    model: "claude", max_tokens: 16, messages: [{ role: "user", content: "SDK messages vain [sim:fault=final]" }],
  });
} catch (error) {
  met["an upstream that calls it in vain"] = { class: error.constructor.name, status: error.status, should_retry: error.headers.get("x-should-retry") };
}

console.log(JSON.stringify(met, null, 2));
