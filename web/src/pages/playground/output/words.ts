import { diffParts } from "@/components/diff";

/** How a piece of an answer looks: JSON has the colours of the editor, other text is plain. */
export type Look = "plain" | "string" | "value" | "sign";

/** A piece of an answer. `differs`: the compared answer does not have it. */
export interface Piece {
  text: string;
  look: Look;
  differs: boolean;
}

const jsonTokens = /"(?:[^"\\]|\\.)*"?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[{}[\],:]|\s+|[^\s{}[\],:"]+/g;
const wordTokens = /[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu;

/** The most words of two answers that are compared: while they stream, and when they are complete. */
export const mostWords = { streaming: 1500, complete: 6000 };

/** Whether an answer looks like JSON, also while only its beginning is there. */
export function looksLikeJSON(text: string): boolean {
  return /^\s*[{[]\s*(["{[\]}]|-?\d|true|false|null|$)/.test(text);
}

/** Words, signs and white space, with their look. Joined, they are the text. A value of JSON without white space is one word. */
function wordsOf(text: string): { text: string; look: Look }[] {
  if (!looksLikeJSON(text)) return (text.match(wordTokens) ?? []).map((word) => ({ text: word, look: "plain" }));
  const tokens = text.match(jsonTokens) ?? [];
  return tokens.flatMap((token, i) => {
    const look = lookOf(token, nextSign(tokens, i) === ":");
    const words = /\s/.test(token.trim()) ? (token.match(wordTokens) ?? []) : [token];
    return words.map((word) => ({ text: word, look }));
  });
}

function nextSign(tokens: readonly string[], from: number): string | undefined {
  const next = tokens[from + 1];
  return next !== undefined && /^\s+$/.test(next) ? tokens[from + 2] : next;
}

function lookOf(token: string, isName: boolean): Look {
  if (token.startsWith('"')) return isName ? "plain" : "string";
  if (/^(-?\d|true$|false$|null$)/.test(token)) return "value";
  return /^[{}[\],:]$/.test(token) ? "sign" : "plain";
}

/** An answer in pieces of one look. With another answer to compare, pieces that it lacks are marked. */
export function piecesOfAnswer(text: string, compared: string | null, most = mostWords.complete): Piece[] {
  const words = wordsOf(text);
  const marks = compared === null ? null : marksOf(words, compared, most);
  const pieces: Piece[] = [];
  words.forEach((word, i) => {
    const differs = marks?.[i] ?? false;
    const last = pieces.at(-1);
    if (last && last.look === word.look && last.differs === differs) last.text += word.text;
    else pieces.push({ text: word.text, look: word.look, differs });
  });
  return pieces;
}

const isSpace = (text: string) => /^\s+$/.test(text);

/** For each word, whether the compared text lacks it; null where the texts are too long to compare. White space does not count by itself. */
function marksOf(words: readonly { text: string }[], compared: string, most: number): boolean[] | null {
  const before = wordsOf(compared).flatMap((w) => (isSpace(w.text) ? [] : w.text));
  const after = words.flatMap((w) => (isSpace(w.text) ? [] : w.text));
  const parts = diffParts(before, after, most);
  if (before.length + after.length > most && !parts.some((p) => p.kind === "same")) return null;
  const added = smooth(
    parts.filter((p) => p.kind !== "del").map((p) => p.kind === "add"),
    after,
  );
  let at = 0;
  return words.map((word) => (isSpace(word.text) ? (added[at - 1] ?? false) && (added[at] ?? false) : (added[at++] ?? false)));
}

/** A short word between two that differ counts as different, so that a phrase has one mark and not ten. */
function smooth(added: readonly boolean[], words: readonly string[]): boolean[] {
  return added.map((mark, i) => mark || (added[i - 1] === true && added[i + 1] === true && (words[i] ?? "").length <= 3));
}

/** Two answers as one text: words that only the first has, only the second, and both. */
export function comparedWords(first: string, second: string): { kind: "same" | "add" | "del"; text: string }[] {
  const parts = diffParts(
    wordsOf(first).map((w) => w.text),
    wordsOf(second).map((w) => w.text),
    mostWords.complete,
  );
  const joined: { kind: "same" | "add" | "del"; text: string }[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (last?.kind === part.kind) last.text += part.text;
    else joined.push({ ...part });
  }
  return joined;
}
