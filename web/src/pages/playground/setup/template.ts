/** A place of a template: plain text, or a tag in its braces. */
export interface Piece {
  text: string;
  /** The name of the variable that the tag reads; "" for other tags; undefined for plain text. */
  variable?: string;
}

const tag = /\\\{\{|\{\{\s*(!|>|#if|#each|\/if|\/each|else)?([^{}]*)\}\}/g;

/** Splits a template into text and tags, for the eye only: the server decides on the meaning. Joined, the pieces are the template. */
export function piecesOf(template: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const match of template.matchAll(tag)) {
    if (match[0] === "\\{{") continue;
    if (match.index > at) pieces.push({ text: template.slice(at, match.index) });
    const [word, rest] = [match[1] ?? "", (match[2] ?? "").trim()];
    const reads = word === "" || word === "#if" || word === "#each";
    pieces.push({ text: match[0], variable: reads ? rootOf(rest) : "" });
    at = match.index + match[0].length;
  }
  if (at < template.length) pieces.push({ text: template.slice(at) });
  return pieces;
}

/** The variable that a path begins at; "" for the element of a loop. */
function rootOf(path: string): string {
  const root = path.split(".")[0]?.trim() ?? "";
  return root === "this" || root.startsWith("@") || !/^[\w-]+$/.test(root) ? "" : root;
}

/** A variable that templates read, as the server derives it where a prompt has no schema. */
export interface ReadVariable {
  name: string;
  kind: "string" | "object" | "list";
  /** Only an `if` asks for it. */
  optional: boolean;
}

/** The variables of templates, in the order of their first use. */
export function variablesOf(templates: readonly string[]): ReadVariable[] {
  const found = new Map<string, ReadVariable>();
  const add = (name: string, kind: ReadVariable["kind"], optional: boolean) => {
    if (name === "") return;
    const old = found.get(name);
    if (!old) found.set(name, { name, kind, optional });
    else found.set(name, { name, kind: old.kind === "string" ? kind : old.kind, optional: old.optional && optional });
  };
  for (const template of templates) {
    for (const match of template.matchAll(tag)) {
      if (match[0] === "\\{{") continue;
      const [word, path] = [match[1] ?? "", (match[2] ?? "").trim()];
      const root = rootOf(path);
      if (word === "#each") add(root, path === root ? "list" : "object", false);
      else if (word === "#if") add(root, path === root ? "string" : "object", true);
      else if (word === "") add(root, path === root ? "string" : "object", false);
    }
  }
  return [...found.values()];
}

/** The prompts that templates include: `lib/tone`, `lib/tone@canary`, `lib/tone@3`. */
export function partialsOf(templates: readonly string[]): string[] {
  const found = new Set<string>();
  for (const template of templates) {
    for (const match of template.matchAll(tag)) if (match[1] === ">") found.add((match[2] ?? "").trim());
  }
  return [...found].filter(Boolean);
}
