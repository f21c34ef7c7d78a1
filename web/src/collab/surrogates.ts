import { EditorState, type Text, type TransactionSpec } from "@codemirror/state";

const high = /[\ud800-\udbff]$/;
const low = /^[\udc00-\udfff]/;

/** Whether a position is inside a character that has two code units. */
function splits(doc: Text, at: number): boolean {
  return at > 0 && at < doc.length && high.test(doc.sliceString(at - 1, at)) && low.test(doc.sliceString(at, at + 1));
}

/** Replaces half characters, which no text of the server can have. */
function wellFormed(text: string): string {
  return text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
}

/**
 * Makes changes begin and end between characters, and insert whole characters: an editor may compare texts by code units, and replace one half
 * of an emoji. Two people who did so at the same time would leave halves behind, and the server refuses such changes.
 */
export const wholeCharacters = EditorState.transactionFilter.of((transaction) => {
  if (!transaction.docChanged) return transaction;
  const before = transaction.startState.doc;
  let broken = false;
  const changes: { from: number; to: number; insert: string }[] = [];
  transaction.changes.iterChanges((fromA, toA, _fromB, _toB, inserted) => {
    let [from, to, insert] = [fromA, toA, inserted.toString()];
    if (splits(before, from)) insert = before.sliceString(--from, fromA) + insert;
    if (splits(before, to)) insert += before.sliceString(toA, ++to);
    insert = wellFormed(insert);
    if (from !== fromA || to !== toA || insert !== inserted.toString()) broken = true;
    const last = changes.at(-1);
    if (last && last.to > from) {
      last.insert += insert.slice(last.to - from); // both changes took the same character
      last.to = to;
    } else changes.push({ from, to, insert });
  }, true);
  if (!broken) return transaction;
  const spec: TransactionSpec = { changes, scrollIntoView: transaction.scrollIntoView };
  return [spec];
});
