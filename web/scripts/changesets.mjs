// Prints random change sets and what CodeMirror makes of them, one JSON object per line: node scripts/changesets.mjs <count> <seed>
import { rebaseUpdates } from "@codemirror/collab";
import { ChangeSet, Text } from "@codemirror/state";

const [count, seed] = process.argv.slice(2).map(Number);
let state = seed >>> 0;

/** A random number below n. The sequence follows from the seed. */
function random(n) {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) % n;
}

const pieces = ["a", "b", "xyz", "\n", "\r", "é", "e\u0301", "😀", "👩‍👩‍👧", "𝒳", '"', "\\", "\u2028", "{{v}}", "", "日本"];

function randomText(most) {
  let text = "";
  for (let n = random(most + 1); n > 0; n--) text += pieces[random(pieces.length)];
  return text;
}

/** A position between characters. */
function position(text) {
  let at = random(text.length + 1);
  if (at > 0 && at < text.length && /[\ud800-\udbff]/.test(text[at - 1]) && /[\udc00-\udfff]/.test(text[at])) at--;
  return at;
}

function change(text) {
  const specs = [];
  for (let n = 1 + random(3); n > 0; n--) {
    const [x, y] = [position(text), random(2) ? position(text) : 0];
    const [from, to] = random(2) ? [x, x] : [Math.min(x, y), Math.max(x, y)];
    specs.push({ from, to, insert: Text.of(randomText(3).split("\n")) });
  }
  return ChangeSet.of(specs, text.length);
}

const apply = (set, text) => set.apply(Text.of(text.split("\n"))).toString();

/** Some updates of one editor, and the text after them. */
function updates(text, client, most) {
  const all = [];
  let after = text;
  for (let n = random(most + 1); n > 0; n--) {
    const changes = change(after);
    all.push({ changes, clientID: client });
    after = apply(changes, after);
  }
  return { all, after };
}

/** Rebases updates over one accepted update after the other, as editors receive them. */
const rebase = (own, over) => over.reduce((updates, accepted) => rebaseUpdates(updates, [accepted]), own);

/** Updates that the server accepted: those of another editor, and the first of the editor's own, rebased in turn. */
function accepted(text, own) {
  const over = [];
  let after = text;
  const already = random(own.length + 1);
  for (let i = 0; i < already; i++) {
    const other = updates(after, "other", 2);
    over.push(...other.all);
    after = other.after;
    const [rebased] = rebase(own.slice(0, i + 1), over);
    over.push(rebased);
    after = apply(rebased.changes, after);
  }
  const last = updates(after, "other", 3);
  return [...over, ...last.all];
}

for (let i = 0; i < count; i++) {
  const text = randomText(12);
  const [a, b] = [change(text), change(text)];
  const after = apply(a, text);
  const then = change(after);
  const at = random(text.length + 1);
  const own = updates(text, "me", 3).all;
  const over = accepted(text, own);
  const line = {
    text, a, b, then, at, after,
    length: a.length, newLength: a.newLength,
    mapped: a.map(b), mappedBefore: a.map(b, true), composed: a.compose(then),
    inverse: a.invert(Text.of(text.split("\n"))),
    left: a.mapPos(at, -1), right: a.mapPos(at, 1),
    own: own.map((u) => u.changes), over: over.map((u) => ({ client: u.clientID, changes: u.changes })),
    rebased: rebase(own, over).map((u) => u.changes),
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
