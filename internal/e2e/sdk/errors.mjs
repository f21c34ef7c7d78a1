// Every class of error that callers of the SDK tell apart.
import OpenAI from "openai";

const options = { baseURL: process.env.PENSTOCK_URL + "/v1", apiKey: process.env.PENSTOCK_API_KEY, maxRetries: 0 };
const client = new OpenAI(options);
const ask = (content, rest) => client.chat.completions.create({ model: "sim", messages: [{ role: "user", content }], ...rest });
const drain = async (stream) => {
  for await (const _ of await stream);
};

const attempts = {
  "an unknown key": () => new OpenAI({ ...options, apiKey: "psk_unknown" }).models.list(),
  "an unknown model, which the fallback serves": () => client.models.retrieve("nobody"),
  "an unknown job": () => client.get("/jobs/job_01ARZ3NDEKTSV4RRFFQ69G5FAV"),
  "a body that we refuse": () => ask("Hi", { model: "" }),
  "a body that the upstream refuses": () => ask("SDK [sim:fault=context_length]"),
  "a prompt that the upstream refuses": () => ask("SDK [sim:fault=content_filter]"),
  "an upstream that fails": () => ask("SDK [sim:fault=server_error]"),
  "an upstream that is busy": () => ask("SDK [sim:fault=overloaded]"),
  "an upstream that fails before the first chunk": () => drain(ask("SDK [sim:fault=error_in_200]", { stream: true })),
  "an upstream that fails in the middle": () => drain(ask("SDK [sim:tokens=2 fault=disconnect]", { stream: true })),
};

const met = {};
for (const [name, attempt] of Object.entries(attempts)) {
  try {
    await attempt();
    met[name] = "no error";
  } catch (error) {
    const { status, code, type, param, requestID, message } = error;
    met[name] = { class: error.constructor.name, status, code, type, param, request_id: requestID, message };
  }
}

console.log(JSON.stringify(met, null, 2));
