import { collab, getSyncedVersion, receiveUpdates, sendableUpdates, type Update } from "@codemirror/collab";
import { history } from "@codemirror/commands";
import { ChangeSet, Compartment, EditorState, type Extension, Text, type Transaction, type TransactionSpec } from "@codemirror/state";
import type { Schemas } from "@/api/client";
import { marks } from "./marks";
import { wholeCharacters } from "./surrogates";

/** Shows a document: the editor view. Without one the document still receives and sends. */
export interface Shown {
  state: EditorState;
  dispatch(transactions: readonly Transaction[]): void;
  setState(state: EditorState): void;
}

/** How many received updates a document remembers, to place cursors and comments that were sent before them. */
const remembered = 200;

/** What a document keeps to survive a reload. */
export interface Saved {
  id: string;
  client: string;
  version: number;
  base: string;
  changes: unknown[];
}

/**
 * One text that several people edit. It has the state of its editor, also while no editor shows it, and the changes that the server has not
 * accepted yet. It has no connection: a session sends and receives for it.
 */
export class SharedDocument {
  readonly view = new Compartment();
  private current: EditorState;
  private shown: Shown | null = null;
  /** The text that the server has accepted. */
  private base: Text;
  private received: { version: number; changes: ChangeSet }[] = [];
  /** Why the server refused the last changes; "" while it accepts them. */
  problem = "";

  constructor(
    readonly id: string,
    readonly client: string,
    text: string,
    version: number,
    private readonly changed: (document: SharedDocument, transaction: Transaction | null) => void,
  ) {
    this.base = Text.of(text.split("\n"));
    this.current = this.stateAt(version);
  }

  private stateAt(version: number, extension: Extension = []): EditorState {
    return EditorState.create({
      doc: this.base,
      extensions: [
        // A carriage return is a character here as on the server; otherwise the lengths would differ.
        EditorState.lineSeparator.of("\n"),
        wholeCharacters,
        collab({ startVersion: version, clientID: this.client }),
        history(),
        marks,
        this.view.of(extension),
      ],
    });
  }

  get state(): EditorState {
    return this.shown?.state ?? this.current;
  }

  get text(): string {
    return this.state.sliceDoc();
  }

  get version(): number {
    return getSyncedVersion(this.state);
  }

  /** The changes that the server has not accepted yet. */
  get unsent(): readonly Update[] {
    return sendableUpdates(this.state);
  }

  /** Hands the document to an editor, until detach. */
  attach(shown: Shown): void {
    this.shown = shown;
  }

  detach(shown: Shown): void {
    if (this.shown !== shown) return;
    this.current = shown.state.update({ effects: this.view.reconfigure([]) }).state;
    this.shown = null;
  }

  /** The editor calls it after each transaction. */
  follow(transaction: Transaction): void {
    this.changed(this, transaction);
  }

  dispatch(...specs: TransactionSpec[]): void {
    this.take(this.state.update(...specs));
  }

  /** Changes the text to another one, by the part that differs. */
  become(text: string): void {
    const changes = difference(this.state.doc, Text.of(text.split("\n")));
    if (!changes.empty) this.dispatch({ changes });
  }

  /** Applies transactions, the first on the current state and each on the state after the one before. */
  take(...transactions: readonly Transaction[]): void {
    if (this.shown) {
      this.shown.dispatch(transactions); // its editor calls follow
      return;
    }
    for (const transaction of transactions) {
      this.current = transaction.state;
      this.changed(this, transaction);
    }
  }

  /** Takes updates of the server. Those that are known already are left out. It reports whether one is missing before them. */
  receive(updates: readonly Schemas["DraftUpdate"][]): "received" | "gap" {
    const version = this.version;
    const fresh = updates.filter((u) => u.version > version);
    if (fresh.length === 0) return "received";
    if (fresh[0]?.version !== version + 1) return "gap";
    // One transaction for each update: the server maps over single updates, and over several at once the result can differ.
    const transactions: Transaction[] = [];
    let state = this.state;
    for (const u of fresh) {
      const changes = ChangeSet.fromJSON(u.changes);
      this.base = changes.apply(this.base);
      this.received.push({ version: u.version, changes });
      const transaction = receiveUpdates(state, [{ clientID: u.client, changes }]);
      transactions.push(transaction);
      state = transaction.state;
    }
    this.received.splice(0, this.received.length - remembered);
    this.take(...transactions);
    return "received";
  }

  /** Maps a position of a version of the server's text to the text as it is here. */
  toLocal(position: number, version: number, side: -1 | 1): number {
    let at = position;
    for (const r of this.received) if (r.version > version && at <= r.changes.length) at = r.changes.mapPos(at, side);
    for (const u of this.unsent) if (at <= u.changes.length) at = u.changes.mapPos(at, side);
    return Math.min(at, this.state.doc.length);
  }

  /** Maps a position here to the version that the server has accepted. */
  toServer(position: number): number {
    let at = position;
    for (const u of this.unsent.toReversed()) at = u.changes.invertedDesc.mapPos(at, 1);
    return at;
  }

  /**
   * Takes a newer text whose updates the server no longer has: the difference counts as somebody else's change, and the own changes that the
   * server lacks are made again behind it, so that nothing typed is lost.
   */
  restart(text: string, version: number): void {
    const next = Text.of(text.split("\n"));
    const own = this.unsent.reduce<ChangeSet | null>((sum, u) => (sum ? sum.compose(u.changes) : u.changes), null);
    const mapped = own?.map(difference(this.base, next)) ?? null;
    const extension = (this.shown && this.view.get(this.state)) || [];
    this.base = next;
    this.received = [];
    this.problem = "";
    const state = this.stateAt(version, extension);
    if (this.shown) this.shown.setState(state);
    else this.current = state;
    if (mapped && !mapped.empty) this.dispatch({ changes: mapped });
    this.changed(this, null);
  }

  save(): Saved | null {
    const unsent = this.unsent;
    if (unsent.length === 0) return null;
    return {
      id: this.id,
      client: this.client,
      version: this.version,
      base: this.base.toString(),
      changes: unsent.map((u) => u.changes.toJSON()),
    };
  }

  /** Makes saved changes again. */
  replay(saved: Saved): void {
    for (const changes of saved.changes) this.dispatch({ changes: ChangeSet.fromJSON(changes) });
  }
}

/** One change from a text to another: what is between the ends that they share. */
export function difference(from: Text, to: Text): ChangeSet {
  const [x, y] = [from.toString(), to.toString()];
  let head = 0;
  while (head < x.length && head < y.length && x[head] === y[head]) head++;
  if (inPair(x, head) || inPair(y, head)) head--;
  let tail = 0;
  while (tail < x.length - head && tail < y.length - head && x[x.length - 1 - tail] === y[y.length - 1 - tail]) tail++;
  if (inPair(x, x.length - tail) || inPair(y, y.length - tail)) tail--;
  return ChangeSet.of({ from: head, to: x.length - tail, insert: Text.of(y.slice(head, y.length - tail).split("\n")) }, x.length);
}

function inPair(text: string, at: number): boolean {
  return at > 0 && at < text.length && /[\ud800-\udbff]/.test(text.charAt(at - 1)) && /[\udc00-\udfff]/.test(text.charAt(at));
}
