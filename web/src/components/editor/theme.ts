import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const frame = EditorView.theme({
  "&": { backgroundColor: "transparent", color: "var(--ink)", fontSize: "0.75rem" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: '"Geist Mono Variable", ui-monospace, monospace', lineHeight: "1.25rem" },
  ".cm-content": { padding: "8px 0", caretColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--ink-3)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "transparent" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--accent-line) !important" },
  ".cm-searchMatch": { backgroundColor: "var(--amber-tint)", outline: "1px solid var(--amber-line)" },
  ".cm-problem": { backgroundColor: "var(--red-tint)", boxShadow: "inset 2px 0 var(--red-solid)" },
  ".cm-panels": { backgroundColor: "var(--surface)", color: "var(--ink)", borderColor: "var(--line)" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--slate-tint)", border: "none", color: "var(--slate)" },
});

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--ink)" },
  { tag: tags.string, color: "var(--green)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--water)" },
  { tag: tags.comment, color: "var(--ink-3)" },
  { tag: tags.keyword, color: "var(--water)" },
  { tag: tags.punctuation, color: "var(--ink-3)" },
  { tag: tags.variableName, color: "var(--violet)" },
  { tag: tags.labelName, color: "var(--green)" },
]);

/** The look of every editor, by the tokens. */
export const editorTheme = [frame, syntaxHighlighting(colours)];
