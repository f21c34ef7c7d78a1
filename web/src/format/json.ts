/** JSON text with line breaks and indents. Its values stay as they were spelled: parsing would change integers above 2^53. */
export function prettyJson(text: string): string {
  let out = "";
  let depth = 0;
  const line = () => `\n${"  ".repeat(depth)}`;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    if (token === "}" || token === "]") {
      depth = Math.max(0, depth - 1);
      out += /[{[]$/.test(out) ? token : line() + token;
    } else {
      if (/[{[,]$/.test(out)) out += line();
      out += token === ":" ? ": " : token;
      if (token === "{" || token === "[") depth++;
    }
  }
  return out;
}
