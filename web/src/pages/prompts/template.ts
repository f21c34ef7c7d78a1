/** What a piece of a template is. */
export type PieceKind = "text" | "value" | "section" | "partial" | "comment";

export interface Piece {
  kind: PieceKind;
  text: string;
}

/** The kind of a tag, by what stands behind its braces. */
export function tagKind(inside: string): PieceKind {
  const text = inside.trimStart();
  if (text.startsWith("!")) return "comment";
  if (text.startsWith(">")) return "partial";
  return text.startsWith("#") || text.startsWith("/") || text.trimEnd() === "else" ? "section" : "value";
}

/** The pieces of a template: texts and tags. Braces behind an odd number of backslashes are text. A tag without an end is text, too. */
export function piecesOf(template: string): Piece[] {
  const pieces: Piece[] = [];
  const add = (kind: PieceKind, text: string) => {
    const last = pieces.at(-1);
    if (text === "") return;
    if (last && last.kind === "text" && kind === "text") last.text += text;
    else pieces.push({ kind, text });
  };
  let at = 0;
  while (at < template.length) {
    const open = template.indexOf("{{", at);
    if (open < 0) break;
    const slashes = /\\*$/.exec(template.slice(at, open))?.[0].length ?? 0;
    const close = template.indexOf("}}", open + 2);
    if (slashes % 2 === 1 || close < 0) {
      add("text", template.slice(at, open + 2));
      at = open + 2;
      continue;
    }
    add("text", template.slice(at, open));
    add(tagKind(template.slice(open + 2, close)), template.slice(open, close + 2));
    at = close + 2;
  }
  add("text", template.slice(at));
  return pieces;
}
