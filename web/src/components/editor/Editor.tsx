import { json } from "@codemirror/lang-json";
import { bracketMatching, codeFolding, foldGutter, foldKeymap } from "@codemirror/language";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useEffectEvent, useRef } from "react";
import { goToLine, type Problem, problemLines, setProblems } from "./problems";
import { editorTheme } from "./theme";

export interface EditorProps {
  label: string;
  text: string;
  language: "json" | "text";
  maxHeight: number;
  readOnly?: boolean;
  onChange?: (text: string) => void;
  /** Lines that are marked, until the text changes. */
  problems?: readonly Problem[] | undefined;
  /** A line to show, with the cursor on it; a new object shows it again. */
  shown?: { line: number } | undefined;
}

function extensionsFor(label: string, language: EditorProps["language"], readOnly: boolean): Extension[] {
  return [
    lineNumbers(),
    foldGutter(),
    codeFolding(),
    bracketMatching(),
    highlightSelectionMatches(),
    search({ top: true }),
    keymap.of([...searchKeymap, ...foldKeymap]),
    EditorView.lineWrapping,
    problemLines,
    EditorState.readOnly.of(readOnly),
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", ...(readOnly ? { "aria-readonly": "true" } : {}) }),
    ...(language === "json" ? [json()] : []),
    ...editorTheme,
  ];
}

/**
 * CodeMirror in a shadow root: there it adds its styles as constructed style sheets, which the CSP of the console allows, and not as style
 * elements, which it forbids.
 */
export function Editor({ label, text, language, maxHeight, readOnly = false, onChange, problems, shown }: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const changed = useEffectEvent((now: string) => onChange?.(now));
  const initial = useEffectEvent(() => text);

  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const follow = EditorView.updateListener.of((u) => u.docChanged && changed(u.state.doc.toString()));
    const made = new EditorView({ root, parent: root, doc: initial(), extensions: [extensionsFor(label, language, readOnly), follow] });
    made.scrollDOM.style.maxHeight = `${maxHeight}px`;
    view.current = made;
    return () => {
      made.destroy();
      view.current = null;
    };
  }, [label, language, readOnly, maxHeight]);

  useEffect(() => {
    const v = view.current;
    if (!v || v.state.doc.toString() === text) return;
    v.dispatch({ changes: { from: 0, to: v.state.doc.length, insert: text } });
  }, [text]);

  useEffect(() => {
    view.current?.dispatch({ effects: setProblems.of(problems ?? []) });
  }, [problems]);

  useEffect(() => {
    if (shown && view.current) goToLine(view.current, shown.line);
  }, [shown]);

  return <div ref={host} />;
}
