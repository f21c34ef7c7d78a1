import { type ChangeDesc, StateEffect, StateField } from "@codemirror/state";

/** The cursor of somebody else. */
export interface Cursor {
  client: string;
  person: string;
  name: string;
  anchor: number;
  head: number;
}

/** The range of a comment. */
export interface CommentRange {
  id: string;
  from: number;
  to: number;
}

export interface Marks {
  cursors: readonly Cursor[];
  comments: readonly CommentRange[];
}

export const setCursors = StateEffect.define<readonly Cursor[]>();
export const setComments = StateEffect.define<readonly CommentRange[]>();

function moved(marks: Marks, changes: ChangeDesc): Marks {
  return {
    cursors: marks.cursors.map((c) => ({ ...c, anchor: changes.mapPos(c.anchor, 1), head: changes.mapPos(c.head, 1) })),
    comments: marks.comments.map((c) => {
      const from = changes.mapPos(c.from, 1);
      return { ...c, from, to: Math.max(from, changes.mapPos(c.to, -1)) };
    }),
  };
}

/** The cursors and comments of a text. They move with every change, as the server moves them. */
export const marks = StateField.define<Marks>({
  create: () => ({ cursors: [], comments: [] }),
  update(value, transaction) {
    let next = transaction.docChanged ? moved(value, transaction.changes) : value;
    for (const effect of transaction.effects) {
      if (effect.is(setCursors)) next = { ...next, cursors: effect.value };
      if (effect.is(setComments)) next = { ...next, comments: effect.value };
    }
    return next;
  },
});
