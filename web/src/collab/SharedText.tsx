/*
 * The editor of one text of a draft that several people edit. How a page uses it:
 *
 *   import { People, SharedText, useDraft } from "@/collab";
 *
 *   const draft = useDraft(tenant, promptName, useRole(tenant, "developer")); // the draft must exist: PUT …/draft makes one
 *   <People draft={draft} />                          // who is here, and whether everything is saved
 *   draft.structure?.texts.map((t) => (               // t.where is text, messages[0].content, messages[1].content[2].text, …
 *     <SharedText key={t.id} draft={draft} text={t.id} label="Message 1, user" />
 *   ))
 *   <Comments draft={draft} />                        // all comments of the draft, with replies
 *
 * Everything else of the draft is its structure: draft.structure has messages, config and input_schema. To change it, call
 *   draft.session.restructure({ kind, messages, config, input_schema, base, texts })
 * with the ids of draft.structure.texts in the new order, and "" for a text that is new. It rejects with status 412 if somebody else changed
 * the structure meanwhile: show the new one and let the person repeat the change. The texts themselves are never part of it.
 *
 * The current text, for previews: draft.session.documents.get(id)?.text; the snapshot changes with every keystroke of everybody.
 */
import { EditorView } from "@codemirror/view";
import { useEffect, useEffectEvent, useRef } from "react";
import { sharedEditor } from "./editor";
import type { DraftSession, Snapshot } from "./session";

export type Draft = Snapshot & { session: DraftSession };

/** CodeMirror in a shadow root, as the CSP of the console wants it. */
export function SharedText(props: {
  draft: Draft;
  /** The id of the text. */
  text: string;
  /** The name of the text for those who do not see it. */
  label: string;
  writes?: boolean;
  /** The largest height in pixels; the text scrolls then. */
  maxHeight?: number;
  /** The selection of the person, for a comment; null while nothing is selected. */
  onSelect?: (range: { from: number; to: number } | null) => void;
}) {
  const { draft, text, label, writes = true, maxHeight = 480, onSelect } = props;
  const host = useRef<HTMLDivElement>(null);
  const select = useEffectEvent((range: { from: number; to: number } | null) => onSelect?.(range));
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
    view.scrollDOM.style.maxHeight = `${maxHeight}px`;
    document.attach(view);
    return () => {
      document.detach(view);
      view.destroy();
    };
  }, [document, session, label, writes, maxHeight]);

  return <div ref={host} className="overflow-visible rounded-card border border-control bg-surface" />;
}
