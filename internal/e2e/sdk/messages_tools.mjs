// Tools of a message: one call, and several at once.
import Anthropic from "@anthropic-ai/sdk";
import { messageTools } from "./shared.mjs";

const client = new Anthropic();

console.log(JSON.stringify({
  one: await messageTools(client, "claude", "Look it up"),
  several: await messageTools(client, "played-claude", "Look both up [play:calls]"),
}, null, 2));
