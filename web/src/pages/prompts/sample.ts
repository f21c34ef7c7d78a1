import type { Schemas } from "@/api";

type Order = Schemas["PromptVersionOrder"];

export const sampleName = "samples/answer";
export const sampleToneName = "samples/tone";

/** A text that the sample includes. */
export function sampleTone(): Order {
  return { kind: "text", text: "Be {{tone}} and brief. Never invent an order number.", message: "Sample" };
}

/** A prompt with each construct of the templates. */
export function sampleAnswer(model: string | undefined): Order {
  return {
    kind: "chat",
    message: "Sample",
    messages: [
      {
        role: "system",
        content: "You answer customers of {{brand}}.\n{{> samples/tone}}\n{{#if vip}}\nThe customer is a partner: offer a call.\n{{/if}}",
      },
      { role: "user", content: "{{question}}" },
    ],
    config: { ...(model ? { model } : {}), temperature: 0.2, max_tokens: 300 },
  };
}
