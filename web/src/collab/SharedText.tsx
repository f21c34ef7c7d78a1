/*
 * The editor of one text of a draft that several people edit. How a page uses it:
 *
 *   import { Comments, People, useSharedDraft } from "@/collab";
 *   const SharedText = lazy(() => import("@/collab/SharedText").then((m) => ({ default: m.SharedText }))); // it brings CodeMirror along
 *
 *   const draft = useSharedDraft(tenant, promptName, { writes: useRole(tenant, "developer"), open: true }); // the draft must exist
 *   <People draft={draft} />                          // who is here; statusText(draft) says whether everything is saved
 *   draft.structure?.texts.map((t) => (               // t.where is text, messages[0].content, messages[1].content[2].text, …
 *     <SharedText key={t.id} draft={draft} text={t.id} label="Message 1, user" />
 *   ))
 *   <Comments draft={draft} />                        // all comments of the draft, with replies
 *
 * Everything else of the draft is its structure: draft.structure has messages, config and input_schema. To change it, call
 *   draft.session.restructure({ kind, messages, config, input_schema, base, texts })
 * with the ids of draft.structure.texts in the new order, and "" for a text that is new. It rejects with status 412 if somebody else changed
 * the structure meanwhile. The texts themselves are never part of it.
 *
 * The current text, for previews: draft.session.documents.get(id)?.text. The snapshot changes with every keystroke of everybody.
 */
import { EditorView } from "@codemirror/view";
import { useEffect, useEffectEvent, useRef } from "react";
import { type Problem, setProblems } from "@/components/editor/problems";
import { sharedEditor } from "./editor";
import type { Draft } from "./useSharedDraft";

export interface SharedTextProps {
  draft: Draft;
  /** The id of the text. */
  text: string;
  /** The name of the text for those who do not see it. */
  label: string;
  writes?: boolean;
  /** In pixels. Beyond the largest height the text scrolls. */
  minHeight?: number;
  maxHeight?: number;
  /** Lines that are marked, until the text changes. */
  problems?: readonly Problem[];
  /** Where the cursor begins, for an editor that takes the place of another one; null: it does not take the focus. */
  cursor?: number | null;
  /** The selection of the person, for a comment; null while nothing is selected. */
  onSelect?: (range: { from: number; to: number } | null) => void;
}

/** CodeMirror in a shadow root, as the CSP of the console wants it. */
export function SharedText(props: SharedTextProps) {
  const { draft, text, label, writes = true, minHeight = 0, maxHeight = 480, problems, cursor = null, onSelect } = props;
  const host = useRef<HTMLDivElement>(null);
  const shown = useRef<EditorView>(null);
  const select = useEffectEvent((range: { from: number; to: number } | null) => onSelect?.(range));
  const begin = useEffectEvent((view: EditorView) => {
    if (cursor === null) return;
    view.dispatch({ selection: { anchor: Math.min(cursor, view.state.doc.length) } });
    view.focus();
  });
  const { session } = draft;
  const document = session.documents.get(text);

  useEffect(() => {
    const element = host.current;
    if (!element || !document) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const watch = EditorView.updateListener.of((update) => {
      if (update.focusChanged) session.focus(document, update.view.hasFocus);
      if (update.selectionSet || update.docChanged) {
        const { from, to, empty } = update.state.selection.main;
        select(empty ? null : { from, to });
      }
    });
    const view: EditorView = new EditorView({
      root,
      parent: root,
      state: document.state.update({ effects: document.view.reconfigure([sharedEditor(label, writes), watch]) }).state,
      dispatchTransactions: (transactions) => {
        view.update(transactions);
        for (const t of transactions) document.follow(t);
      },
    });
    view.scrollDOM.style.minHeight = `${minHeight}px`;
    view.scrollDOM.style.maxHeight = `${maxHeight}px`;
    document.attach(view);
    shown.current = view;
    begin(view);
    return () => {
      document.detach(view);
      shown.current = null;
      view.destroy();
    };
  }, [document, session, label, writes, minHeight, maxHeight]);

  useEffect(() => {
    shown.current?.dispatch({ effects: setProblems.of(problems ?? []) });
  }, [problems]);

  return <div ref={host} />;
}
