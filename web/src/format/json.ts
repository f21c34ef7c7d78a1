/**
 * JSON text with two spaces of indent. It moves whitespace only: numbers beyond the precision of JavaScript, doubled names and escapes stay as the
 * server sent them. Text that is no JSON is returned as it is.
 */
export function indentJson(text: string): string {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? [];
  let out = "";
  let depth = 0;
  const line = () => `\n${"  ".repeat(depth)}`;
  tokens.forEach((token, i) => {
    if (token === "{" || token === "[") {
      depth++;
      out += token;
      if (!isClose(tokens[i + 1])) out += line();
    } else if (isClose(token)) {
      depth--;
      out += isOpen(tokens[i - 1]) ? token : line() + token;
    } else if (token === ",") out += token + line();
    else out += token === ":" ? ": " : token;
  });
  return out;
}

function isOpen(token: string | undefined): boolean {
  return token === "{" || token === "[";
}

function isClose(token: string | undefined): boolean {
  return token === "}" || token === "]";
}
