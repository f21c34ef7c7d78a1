import type { Schemas } from "@/api";
import type { Effective } from "../setup/prompt";
import type { Message } from "../types";

export interface VersionParts {
  messages: readonly Message[];
  inputSchema: unknown;
  effective: Effective;
  message: string;
}

/** The order of a version with everything that the column runs with. A prompt of kind text has one message, which is its text. */
export function versionOrder(kind: "chat" | "text", parts: VersionParts): Schemas["PromptVersionOrder"] {
  const { model, params, tools, responseFormat } = parts.effective;
  const config = {
    ...(model === null ? {} : { model }),
    ...params,
    ...(tools.length > 0 ? { tools: [...tools] } : {}),
    ...(responseFormat == null ? {} : { response_format: responseFormat }),
  };
  const only = parts.messages.length === 1 ? parts.messages[0]?.content : undefined;
  const content =
    kind === "text" && typeof only === "string" ? { kind, text: only } : { kind: "chat" as const, messages: [...parts.messages] };
  return {
    ...content,
    config,
    ...(parts.inputSchema == null ? {} : { input_schema: parts.inputSchema }),
    ...(parts.message === "" ? {} : { message: parts.message }),
  } as Schemas["PromptVersionOrder"];
}
