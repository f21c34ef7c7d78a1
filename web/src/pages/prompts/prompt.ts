import type { Schemas } from "@/api";
import { textIn } from "@/search";
import type { Role } from "@/session";

export type Prompt = Schemas["Prompt"];
export type Version = Schemas["PromptVersion"];
export type Label = Schemas["PromptLabel"];
export type Move = Schemas["PromptMove"];
export type Request = Schemas["PromptRequest"];
export type Protection = Schemas["PromptProtection"];
export type Message = Schemas["PromptMessage"];

/** The label that follows the newest version by itself. */
export const latestLabel = "latest";
/** The label that callers get who name none. */
export const defaultLabel = "production";

/** The roles that change prompts, and those that move labels. */
export const writers: readonly Role[] = ["developer"];
export const movers: readonly Role[] = ["developer", "operator"];

/** The events of the stream that make these pages old. */
export const promptTopics = {
  "prompt.changed": [
    "/v1/prompts",
    "/v1/prompts/{name}",
    "/v1/prompts/{name}/versions",
    "/v1/prompts/{name}/history",
    "/v1/prompts/{name}/requests",
    "/v1/prompts/{name}/uses",
    "/v1/prompt_protections",
  ],
};

const word = /^[0-9A-Za-z][\w.-]*$/;
const maxNameBytes = 200;
const maxSegments = 8;
const maxLabelBytes = 64;

/** Words of the API's paths, which no segment of a name can be. */
const reserved = new Set([
  "versions",
  "labels",
  "draft",
  "render",
  "diff",
  "history",
  "uses",
  "requests",
  "archive",
  "restore",
  "import",
  "export",
]);

/** Why no prompt can have a name; null where the server decides. */
export function nameProblem(name: string): string | null {
  const segments = name.split("/");
  if (name.length > maxNameBytes || segments.length > maxSegments) {
    return `A name has at most ${maxNameBytes} characters and ${maxSegments} parts.`;
  }
  if (!segments.every((s) => word.test(s))) {
    return "Each part of a name has letters, digits, . _ and -, and begins with a letter or a digit. Parts have one / between them.";
  }
  const taken = segments.find((s) => reserved.has(s));
  return taken ? `${taken} is a word of the API's paths. Use another word.` : null;
}

/** Why a label cannot exist; null where the server decides. */
export function labelProblem(label: string): string | null {
  if (label === latestLabel) return "latest follows the newest version by itself. Use another label.";
  if (/^\d+$/.test(label)) return "A number would be mistaken for a version.";
  if (!word.test(label) || label.length > maxLabelBytes) {
    return `A label has at most ${maxLabelBytes} letters, digits, . _ and -, and begins with a letter or a digit.`;
  }
  return null;
}

/** The last part of a name, or of a folder. */
export function leafOf(name: string): string {
  return name.replace(/\/$/, "").split("/").at(-1) ?? name;
}

/** The folder of a name, with a slash at its end; empty at the top. */
export function folderOf(name: string): string {
  return name.slice(0, name.lastIndexOf("/") + 1);
}

/** The folders on the way to a folder, each with its title. */
export function stepsTo(folder: string): { title: string; folder: string }[] {
  const parts = folder.split("/").filter(Boolean);
  return parts.map((title, i) => ({ title, folder: `${parts.slice(0, i + 1).join("/")}/` }));
}

/** How far a label is behind the newest version: `3 behind`; null where it is not. */
export function driftOf(version: number, latest: number | null): string | null {
  return latest !== null && version < latest ? `${latest - version} behind` : null;
}

/** The labels that name a version, without latest. */
export function labelsOf(prompt: Pick<Prompt, "labels">, version: number): Label[] {
  return prompt.labels.filter((l) => l.version === version && l.label !== latestLabel);
}

/** The protection of a label of a prompt, if it has one. */
export function protectionOf(protections: readonly Protection[], label: string, name: string): Protection | undefined {
  return protections.find(
    (p) =>
      p.label === label &&
      (p.prompts.length === 0 || p.prompts.some((path) => path === name || (path.endsWith("/") && name.startsWith(path)))),
  );
}

/** How a person may move a label: at once, by asking somebody else, or not at all. */
export type Way = "move" | "request" | "none";

/** `has` says whether the person has one of some roles. */
export function wayOf(protection: Protection | undefined, has: (roles: readonly Role[]) => boolean): Way {
  if (!has(movers)) return "none";
  if (!protection) return "move";
  return protection.approval || !has(protection.roles) ? "request" : "move";
}

/** The version that a label named before its present one; null for none. Moves are in their order, newest first. */
export function previousOf(moves: readonly Move[], label: string, version: number): number | null {
  return moves.find((m) => m.label === label && m.to === version)?.from ?? null;
}

/** The label that a version is most likely promoted to: the one of callers who name none, unless the version has it already. */
export function likelyLabel(prompt: Pick<Prompt, "labels">, version: number): string {
  const others = prompt.labels.filter((l) => l.label !== latestLabel && l.version !== version);
  return (others.find((l) => l.label === defaultLabel) ?? others[0])?.label ?? defaultLabel;
}

/** The number of a version in the URL, as text; undefined for anything else. */
export function versionIn(search: Record<string, unknown>, name: string): string | undefined {
  const text = textIn(search, name);
  return text && /^[1-9]\d{0,8}$/.test(text) ? text : undefined;
}

/** A side of a comparison: a version, a label, or the draft. */
export function sideIn(search: Record<string, unknown>, name: string): string | undefined {
  const text = textIn(search, name);
  return text && word.test(text) && text.length <= maxLabelBytes ? text : undefined;
}

/** `v7`, or the word of a label or the draft. */
export function sideWord(side: string): string {
  return /^\d+$/.test(side) ? `v${side}` : side;
}

/** The name of an author for people: those without an e-mail address have a prefix, which no key has. */
export function personWord(name: string | null): string {
  return (name ?? "").replace(/^person:/, "");
}

/** The end of a hash, which tells versions apart. */
export function hashTail(sha256: string): string {
  return sha256.slice(-8);
}
