// Tools of a chat: one call, and several at once.
import OpenAI from "openai";
import { chatTools } from "./shared.mjs";

const client = new OpenAI();

console.log(JSON.stringify({
  one: await chatTools(client, "chats", "Look it up"),
  several: await chatTools(client, "played-chats", "Look both up [play:calls]"),
}, null, 2));
