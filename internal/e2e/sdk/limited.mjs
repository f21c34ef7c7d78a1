// A tenant at its own limit: the class of error that callers of either SDK wait on. The model takes a call a
// minute, and the tenant may queue one item.
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

const options = { apiKey: process.env.PENSTOCK_SMALL_KEY, maxRetries: 0 };
const body = { model: "narrow", input: "One too many" };
const fill = async (submit) => {
  for (let i = 0; i < 10; i++) {
    try {
      await submit();
    } catch (error) {
      const { status, code, type, headers } = error;
      return {
        class: error.constructor.name, status, code, type,
        should_retry: headers.get("x-should-retry"), says_when: headers.has("retry-after"), has_id: headers.has("x-request-id"),
      };
    }
  }
  return "no error";
};
const chats = new OpenAI(options);
const messages = new Anthropic(options);

console.log(JSON.stringify({
  openai: await fill(() => chats.post("/jobs", { body })),
  anthropic: await fill(() => messages.post("/v1/jobs", { body })),
}, null, 2));
