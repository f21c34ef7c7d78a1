// The two variables that `penstock dev` tells to export are all that the SDK needs.
import OpenAI from "openai";

const completion = await new OpenAI().chat.completions.create({
  model: "gpt-4o-mini",
  messages: [{ role: "user", content: "Hi from the environment" }],
});

console.log(JSON.stringify({ content: completion.choices[0].message.content }, null, 2));
