/** A part of a line; `changed` words are those that the other line lacks. */
export interface WordPart {
  text: string;
  changed: boolean;
}

const mostWords = 400; // of both lines together; longer lines are changed as a whole
const leastShared = 0.3; // lines that share less are different lines, and marks would only confuse

/** The words of two lines that differ, by their longest common subsequence. */
export function diffWords(before: string, after: string): { before: WordPart[]; after: WordPart[] } {
  const a = wordsIn(before);
  const b = wordsIn(after);
  const whole = { before: [{ text: before, changed: false }], after: [{ text: after, changed: false }] };
  if (a.length + b.length > mostWords) return whole;
  const kept = common(a, b);
  const shared = kept.reduce((sum, [i]) => sum + (a[i] ?? "").trim().length, 0);
  if (shared < leastShared * Math.max(before.trim().length, after.trim().length)) return whole;
  return { before: marked(a, new Set(kept.map(([i]) => i))), after: marked(b, new Set(kept.map(([, j]) => j))) };
}

/** Words, signs and white space. */
function wordsIn(line: string): string[] {
  return line.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
}

/** The pairs of places of the longest common subsequence. */
function common(a: readonly string[], b: readonly string[]): [number, number][] {
  const length = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  const at = (i: number, j: number) => length[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    const row = length[i];
    if (!row) continue;
    for (let j = b.length - 1; j >= 0; j--) row[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return pairs;
}

/** Joins neighbours of the same sort. */
function marked(words: readonly string[], kept: ReadonlySet<number>): WordPart[] {
  const parts: WordPart[] = [];
  words.forEach((text, i) => {
    const changed = !kept.has(i);
    const last = parts.at(-1);
    if (last?.changed === changed) last.text += text;
    else parts.push({ text, changed });
  });
  return parts;
}
