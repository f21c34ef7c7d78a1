import type { Editor } from "./editor";

/** The setup that a person left, and the run that it belongs to. */
export interface Draft {
  editor: Editor;
  run: string | null;
}

const prefix = "penstock.playground.";

/** The kept setup of a tenant. It is in the storage of the tab: it survives a reload, and ends with the tab or the session of the person. */
export function loadDraft(tenant: string, storage: Pick<Storage, "getItem"> = sessionStorage): Draft | null {
  try {
    const draft = JSON.parse(storage.getItem(prefix + tenant) ?? "null") as Draft | null;
    return draft && Array.isArray(draft.editor?.columns) && draft.editor.columns.length > 0 && Array.isArray(draft.editor.rows)
      ? { ...draft, editor: freshKeys(draft.editor) }
      : null;
  } catch {
    return null; // storage is off, or has something else
  }
}

/** Keys of an earlier page could meet new ones. */
function freshKeys(editor: Editor): Editor {
  let n = 0;
  const key = () => `d${n++}`;
  return {
    ...editor,
    columns: editor.columns.map((c) => ({
      ...c,
      key: key(),
      source:
        c.source.from === "text"
          ? { ...c.source, content: { ...c.source.content, messages: c.source.content.messages.map((m) => ({ ...m, key: key() })) } }
          : c.source,
    })),
  };
}

/** Keeps a setup. False: it is too large for the storage, and a reload would lose it. */
export function saveDraft(tenant: string, draft: Draft, storage: Pick<Storage, "setItem"> = sessionStorage): boolean {
  try {
    storage.setItem(prefix + tenant, JSON.stringify(draft));
    return true;
  } catch {
    return false;
  }
}
