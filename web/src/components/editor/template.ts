import { StreamLanguage } from "@codemirror/language";

/** The token of a tag, by the text behind its braces. */
function tokenOf(inside: string): string {
  const text = inside.trimStart();
  if (text.startsWith("!")) return "comment";
  if (text.startsWith(">")) return "labelName";
  return /^[#/]|^else\s*}}/.test(text) ? "keyword" : "variableName";
}

/** The templates of prompts: tags in double braces, in plain text. */
export const template = StreamLanguage.define<{ tag: string | null }>({
  name: "template",
  startState: () => ({ tag: null }),
  token(stream, state) {
    if (state.tag === null) {
      const slashes = stream.match(/^\\+(?=\{\{)/) as RegExpMatchArray | null;
      if (slashes && (slashes[0]?.length ?? 0) % 2 === 1) stream.match("{{"); // literal braces
      if (slashes) return null;
      if (!stream.match("{{")) {
        stream.next();
        while (!stream.eol() && !stream.match(/^\\*\{\{/, false)) stream.next();
        return null;
      }
      state.tag = tokenOf(stream.string.slice(stream.pos));
    }
    const token = state.tag;
    if (stream.skipTo("}}")) {
      stream.match("}}");
      state.tag = null;
    } else stream.skipToEnd(); // the tag goes on in the next line
    return token;
  },
});
