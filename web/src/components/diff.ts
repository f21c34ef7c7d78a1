export interface DiffLine {
  kind: "same" | "add" | "del";
  text: string;
}

const largest = 4000; // parts of both texts together; beyond, the whole text counts as changed

/** The lines of two texts, by their longest common subsequence. */
export function diffLines(before: string, after: string): DiffLine[] {
  return diffParts(before === "" ? [] : before.split("\n"), after === "" ? [] : after.split("\n"));
}

/** The parts of two texts, lines or words, by their longest common subsequence. With more than `most` different parts, all of them count as changed. */
export function diffParts(a: readonly string[], b: readonly string[], most = largest): DiffLine[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const same = (lines: readonly string[]): DiffLine[] => lines.map((text) => ({ kind: "same", text }));
  return [
    ...same(a.slice(0, start)),
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end), most),
    ...same(a.slice(a.length - end)),
  ];
}

function middle(a: readonly string[], b: readonly string[], most: number): DiffLine[] {
  if (a.length + b.length > most) {
    return [...a.map((text): DiffLine => ({ kind: "del", text })), ...b.map((text): DiffLine => ({ kind: "add", text }))];
  }
  const width = b.length + 1;
  const length = new Uint16Array((a.length + 1) * width); // of the common subsequence of the rests
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      length[i * width + j] =
        a[i] === b[j] ? at(length, (i + 1) * width + j + 1) + 1 : Math.max(at(length, (i + 1) * width + j), at(length, i * width + j + 1));
    }
  }
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: "same", text: a[i] ?? "" });
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && at(length, (i + 1) * width + j) >= at(length, i * width + j + 1))) {
      lines.push({ kind: "del", text: a[i++] ?? "" });
    } else {
      lines.push({ kind: "add", text: b[j++] ?? "" });
    }
  }
  return lines;
}

function at(array: Uint16Array, index: number): number {
  return array[index] ?? 0;
}
