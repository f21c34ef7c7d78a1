/** A part of the configuration: the lines of one key of the file. */
export interface ConfigPart {
  name: string;
  text: string;
  /** How many names the part has directly below it. */
  entries: number;
}

export const generalPart = "general";

/**
 * The parts of a configuration, as the server writes it: one for each key that has lines below it, and one for all keys with a
 * single value. The text of a part is a piece of the file, so that it can be copied back.
 */
export function partsOf(yaml: string): ConfigPart[] {
  const blocks: { name: string; lines: string[] }[] = [];
  for (const line of yaml.split("\n")) {
    const key = /^([A-Za-z_][\w-]*):/.exec(line)?.[1];
    if (key) blocks.push({ name: key, lines: [line] });
    else if (line !== "") blocks.at(-1)?.lines.push(line);
  }
  const single = blocks.filter((b) => b.lines.length === 1);
  const parts = blocks
    .filter((b) => b.lines.length > 1)
    .map((b) => ({ name: b.name, text: b.lines.join("\n"), entries: entriesOf(b.lines) }));
  if (single.length === 0) return parts;
  return [{ name: generalPart, text: single.map((b) => b.lines[0]).join("\n"), entries: single.length }, ...parts];
}

/** The names below a key; of a list, its values. */
function entriesOf(lines: readonly string[]): number {
  const count = (pattern: RegExp) => lines.filter((line) => pattern.test(line)).length;
  return count(/^ {2}[^\s-]/) || count(/^ {2,4}- /);
}
