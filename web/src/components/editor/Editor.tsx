import { history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { bracketMatching, codeFolding, foldGutter, foldKeymap } from "@codemirror/language";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useEffectEvent, useRef } from "react";
import { goToLine, type Problem, problemLines, setProblems } from "./problems";
import { template } from "./template";
import { editorTheme } from "./theme";

export type Language = "json" | "text" | "template";

const languages: Record<Language, () => Extension[]> = { json: () => [json()], text: () => [], template: () => [template] };

export interface EditorProps {
  label: string;
  text: string;
  language: Language;
  maxHeight: number;
  /** Without line numbers and folds: prose. */
  prose?: boolean;
  minHeight?: number;
  readOnly?: boolean;
  onChange?: (text: string) => void;
  /** Lines that are marked, until the text changes. */
  problems?: readonly Problem[] | undefined;
  /** A line to show, with the cursor on it; a new object shows it again. */
  shown?: { line: number } | undefined;
}

type Looks = Pick<EditorProps, "label" | "language" | "readOnly" | "prose">;

function extensionsFor({ label, language, readOnly = false, prose }: Looks): Extension[] {
  return [
    ...(prose ? [] : [lineNumbers(), foldGutter(), codeFolding(), bracketMatching()]),
    highlightSelectionMatches(),
    search({ top: true }),
    ...(readOnly ? [] : [history(), keymap.of(historyKeymap)]),
    keymap.of([...searchKeymap, ...foldKeymap]),
    EditorView.lineWrapping,
    problemLines,
    EditorState.readOnly.of(readOnly),
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", ...(readOnly ? { "aria-readonly": "true" } : {}) }),
    ...languages[language](),
    ...editorTheme,
  ];
}

/**
 * CodeMirror in a shadow root: there it adds its styles as constructed style sheets, which the CSP of the console allows, and not as style
 * elements, which it forbids.
 */
export function Editor(props: EditorProps) {
  const { label, text, language, maxHeight, minHeight = 0, readOnly = false, prose = false, onChange, problems, shown } = props;
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const changed = useEffectEvent((now: string) => onChange?.(now));
  const initial = useEffectEvent(() => text);

  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const follow = EditorView.updateListener.of((u) => u.docChanged && changed(u.state.doc.toString()));
    const made = new EditorView({
      root,
      parent: root,
      doc: initial(),
      extensions: [extensionsFor({ label, language, readOnly, prose }), follow],
    });
    made.scrollDOM.style.maxHeight = `${maxHeight}px`;
    made.scrollDOM.style.minHeight = `${minHeight}px`;
    view.current = made;
    return () => {
      made.destroy();
      view.current = null;
    };
  }, [label, language, readOnly, prose, maxHeight, minHeight]);

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
