import type { Message, Part } from "../types";
import { newKey } from "./key";

export const messageRoles = ["system", "developer", "user", "assistant", "tool"] as const;

export interface Image {
  url: string;
  detail?: string;
}

/** A message while a person edits it. Members that the editor does not show are kept in `rest`. */
export interface EditedMessage {
  key: string;
  role: string;
  text: string;
  images: readonly Image[];
  /** The variable with a list of messages that stand here; such a message has nothing else. */
  placeholder: string | null;
  rest: Omit<Message, "role" | "content" | "placeholder">;
}

/** The content of a prompt that is not saved. */
export interface Content {
  messages: readonly EditedMessage[];
  /** The author's schema of the variables; null: derived from the templates. */
  inputSchema: unknown;
}

export function newMessage(role: string, text = ""): EditedMessage {
  return { key: newKey(), role, text, images: [], placeholder: null, rest: {} };
}

/** Messages of the API for the editor. Text parts become one text. */
export function editedMessages(messages: readonly Message[]): EditedMessage[] {
  return messages.map(({ role, content, placeholder, ...rest }) => {
    const parts: Part[] = typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
    return {
      key: newKey(),
      role: role ?? "user",
      text: parts
        .filter((p) => p.type === "text")
        .map((p) => p.text ?? "")
        .join("\n"),
      images: parts.flatMap((p) => (p.image_url ? [p.image_url] : [])),
      placeholder: placeholder ?? null,
      rest,
    };
  });
}

/** Messages of the editor for the API: text alone is a string, text with images is a list of parts. */
export function sentMessages(messages: readonly EditedMessage[]): Message[] {
  return messages.map((m) => {
    if (m.placeholder !== null) return { placeholder: m.placeholder };
    if (m.images.length === 0) return { role: m.role, content: m.text, ...m.rest };
    const text: Part[] = m.text === "" ? [] : [{ type: "text", text: m.text }];
    return { role: m.role, content: [...text, ...m.images.map((image): Part => ({ type: "image_url", image_url: image }))], ...m.rest };
  });
}

/** The templates in messages: texts, and the addresses of images. */
export function templatesOf(messages: readonly EditedMessage[]): string[] {
  return messages.flatMap((m) => [m.text, ...m.images.map((i) => i.url).filter((url) => !url.startsWith("data:"))]);
}

export function placeholdersOf(messages: readonly EditedMessage[]): string[] {
  return messages.flatMap((m) => (m.placeholder === null ? [] : [m.placeholder]));
}
