import { Transaction } from "@codemirror/state";
import type { Schemas } from "@/api/client";
import type { ServerEvent } from "@/live/sse";
import { type Saved, SharedDocument } from "./document";
import { setComments, setCursors } from "./marks";
import { linked, Refused, type Transport } from "./transport";

export type Structure = Schemas["DraftStructure"];
export type Comment = Schemas["DraftComment"];
export type Person = Schemas["DraftPerson"];

/** gone: somebody discarded the draft. denied: the server refuses the person. */
export type Status = "connecting" | "live" | "offline" | "gone" | "denied";

/** What a session shows. It is replaced as a whole with every change. */
export interface Snapshot {
  status: Status;
  structure: Structure | null;
  people: readonly Person[];
  comments: readonly Comment[];
  /** Texts with changes that the server has not accepted yet. */
  unsent: number;
  /** Why the server refuses changes; "" if it does not. */
  problem: string;
}

/** Where changes stay that were not sent before the page was closed. */
export interface Keeper {
  load(): Saved[];
  store(saved: Saved[]): void;
}

interface Options {
  transport: Transport;
  keeper?: Keeper;
  /** Whether the person may edit. */
  writes?: boolean;
  /** Random digits for the id of this editor; tests give their own. */
  random?: () => string;
}

const cursorGapMs = 500; // between two messages with the own cursor
const firstDelayMs = 250;
const lastDelayMs = 8_000;
const pauseMs = 1_000; // after an answer that asks to wait

/**
 * The connection of one page to one draft: it opens the draft, sends the changes of its documents, one call at a time for each, and receives
 * those of others. While the server cannot be reached, documents go on; everything is sent afterwards.
 */
export class DraftSession {
  readonly documents = new Map<string, SharedDocument>();
  private snap: Snapshot = { status: "connecting", structure: null, people: [], comments: [], unsent: 0, problem: "" };
  private readonly listeners = new Set<() => void>();
  private stop = new AbortController();
  private readonly sending = new Set<string>();
  private revision = 0;
  private client = "";
  private reopening: Promise<void> | null = null;
  /** What has to be read before the next stream. */
  private toRead: "again" | "structure" | null = "again";
  private attempt = 0;
  private stream = new AbortController();
  private wake = () => {};
  private cursor: { text: string; anchor: number; head: number } | null = null;
  private cursorTimer: ReturnType<typeof setTimeout> | undefined;
  private cursorSentAt = 0;
  private saveTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly options: Options) {}

  // For useSyncExternalStore.
  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  snapshot = (): Snapshot => this.snap;

  private update(change: Partial<Snapshot>): void {
    const documents = [...this.documents.values()];
    const unsent = documents.filter((d) => d.unsent.length > 0).length;
    const problem = documents.find((d) => d.problem)?.problem ?? "";
    this.snap = { ...this.snap, ...change, unsent, problem };
    for (const listener of this.listeners) listener();
  }

  /** Begins to follow the draft, until the function that it returns is called. It can begin again afterwards. */
  start(): () => void {
    if (this.stop.signal.aborted) this.stop = new AbortController();
    void this.run();
    return () => this.close();
  }

  private async run(): Promise<void> {
    const stop = this.stop;
    while (!stop.signal.aborted) {
      try {
        if (this.toRead === "again") await this.reopen();
        else if (this.toRead === "structure") await this.open("structure");
        this.stream = linked(stop.signal);
        const query = new URLSearchParams({ after: String(this.revision), ...(this.writes ? { client: this.client } : {}) });
        await this.options.transport.events(`events?${query}`, (event) => this.receive(event), this.stream.signal);
      } catch (cause) {
        if (this.ended(cause)) return;
      }
      if (stop.signal.aborted || this.snap.status === "gone") return;
      this.update({ status: "offline" });
      await this.sleep(backoffMs(this.attempt++));
    }
  }

  /** Ends the stream, which is opened again: the network went away. */
  disconnect = (): void => this.stream.abort();

  /** Whether a failure is final. */
  private ended(cause: unknown): boolean {
    const status = cause instanceof Refused ? cause.status : 0;
    if (status === 404) this.update({ status: "gone" });
    else if (status === 401 || status === 403) this.update({ status: "denied" });
    else return false;
    return true;
  }

  private get writes(): boolean {
    return this.options.writes ?? true;
  }

  /** Connects now, where the session waits for its next attempt. */
  connectNow = (): void => this.wake();

  close(): void {
    this.stop.abort();
    this.wake();
    clearTimeout(this.cursorTimer);
    clearTimeout(this.saveTimer);
    this.keep();
  }

  private sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (this.stop.signal.aborted) this.wake();
    });
  }

  /** Reads the structure. Documents that exist already go on; with again, they take the text of the server. */
  private async open(again: "again" | "structure"): Promise<void> {
    const structure = await this.options.transport.call<Structure>("GET", "structure");
    if (!this.client) this.client = `${structure.you}-${(this.options.random ?? randomDigits)()}`;
    const saved = this.revision === 0 ? (this.options.keeper?.load() ?? []) : [];
    const own = saved.filter((s) => s.client.startsWith(`${structure.you}-`)); // not those of a person who signed in here before
    for (const t of structure.texts) {
      const known = this.documents.get(t.id);
      if (known && again === "again" && known.version !== t.version) known.restart(t.text, t.version);
      if (!known)
        this.add(
          t,
          own.find((s) => s.id === t.id),
        );
    }
    for (const id of this.documents.keys()) if (!structure.texts.some((t) => t.id === id)) this.documents.delete(id);
    if (again === "again") this.revision = structure.revision;
    this.toRead = null;
    this.update({ status: "live", structure, people: structure.people, comments: structure.comments });
    this.showMarks();
    this.sendAll();
  }

  private add(t: Schemas["DraftText"], saved: Saved | undefined): void {
    const document = saved
      ? new SharedDocument(t.id, saved.client, saved.base, saved.version, this.changed)
      : new SharedDocument(t.id, this.client, t.text, t.version, this.changed);
    this.documents.set(t.id, document);
    if (saved) document.replay(saved);
  }

  private reopen(): Promise<void> {
    this.reopening ??= this.open("again").finally(() => {
      this.reopening = null;
    });
    return this.reopening;
  }

  private receive(event: ServerEvent): void {
    if (this.stop.signal.aborted) return;
    this.attempt = 0;
    const data = JSON.parse(event.data) as Schemas["DraftEvent"];
    if (event.id) this.revision = Math.max(this.revision, Number(event.id));
    switch (data.type) {
      case "updates":
        this.take(this.documents.get(data.text ?? ""), data.updates ?? []);
        break;
      case "structure":
        if (data.etag !== this.snap.structure?.etag) void this.open("structure").catch(() => this.lost("structure"));
        break;
      case "comments":
        this.update({ comments: data.comments ?? [] });
        break;
      case "people":
        this.update({ people: data.people ?? [] });
        break;
      case "reset":
        this.again();
        return;
      case "gone":
        this.update({ status: "gone" });
        this.close();
        return;
    }
    if (data.type === "comments" || data.type === "people") this.showMarks();
    if (this.snap.status !== "live") this.update({ status: "live" });
    this.sendAll();
  }

  /** Passes updates to a document. A document with changes of its own gets the updates that it lacks as the answer to these. */
  private take(document: SharedDocument | undefined, updates: readonly Schemas["DraftUpdate"][]): void {
    if (document?.receive(updates) === "gap" && document.unsent.length === 0) this.again();
  }

  private again(): void {
    void this.reopen().catch(() => this.lost("again"));
  }

  /** The structure could not be read: it is read before the next stream. */
  private lost(part: "again" | "structure"): void {
    if (this.toRead !== "again") this.toRead = part;
    this.disconnect();
  }

  /** A document changed: what the person typed is sent, and kept until it is accepted. */
  private changed = (document: SharedDocument, transaction: Transaction | null): void => {
    if (transaction?.annotation(Transaction.remote)) {
      this.update({});
      return;
    }
    if (transaction?.selection || transaction?.docChanged) this.moved(document);
    if (transaction && !transaction.docChanged) return;
    document.problem = "";
    this.update({});
    void this.send(document);
    this.saveTimer ??= setTimeout(() => this.keep(), 200);
  };

  private keep(): void {
    this.saveTimer = undefined;
    this.options.keeper?.store([...this.documents.values()].flatMap((d) => d.save() ?? []));
  }

  private sendAll(): void {
    for (const document of this.documents.values()) void this.send(document);
  }

  /** Sends the changes of a document until none is left. While the session is offline, the stream sends again once the server is back. */
  private async send(document: SharedDocument): Promise<void> {
    if (this.sending.has(document.id) || !this.writes) return;
    this.sending.add(document.id);
    let failures = 0;
    try {
      while (!this.stop.signal.aborted && document.unsent.length > 0 && !document.problem && this.documents.get(document.id) === document) {
        try {
          await this.sendOnce(document);
          failures = 0;
        } catch {
          if (this.snap.status !== "live") break;
          await pause(backoffMs(failures++)); // a call can fail while the stream goes on
        }
      }
    } finally {
      this.sending.delete(document.id);
      this.update({});
      this.saveTimer ??= setTimeout(() => this.keep(), 200);
    }
  }

  private async sendOnce(document: SharedDocument): Promise<void> {
    const updates = document.unsent.slice(0, maxSubmission).map((u) => ({ changes: u.changes.toJSON() }));
    try {
      const answer = await this.options.transport.call<Schemas["DraftUpdates"]>("POST", `texts/${document.id}/updates`, {
        client: document.client,
        version: document.version,
        updates,
      });
      if (document.receive(answer.updates) === "gap") await this.reopen();
    } catch (cause) {
      if (!(cause instanceof Refused) || cause.status === 0 || cause.status >= 500) throw cause;
      if (cause.status === 429) await pause(pauseMs);
      else if (cause.status === 410) await this.reopen();
      else if (cause.status === 404) await this.open("structure");
      else document.problem = cause.message;
    }
  }

  /** Shows the cursors and comments of others in the documents. */
  private showMarks(): void {
    for (const [id, d] of this.documents) {
      const cursors = this.snap.people
        .filter((p) => p.text === id && p.client !== this.client)
        .map((p) => ({
          client: p.client,
          person: p.person,
          name: p.name,
          anchor: d.toLocal(p.anchor, p.version, 1),
          head: d.toLocal(p.head, p.version, 1),
        }));
      const comments = this.snap.comments
        .filter((c) => c.text === id && !c.parent && !c.resolved_at)
        .map((c) => {
          const from = d.toLocal(c.from, c.version, 1);
          return { id: c.id, from, to: Math.max(from, d.toLocal(c.to, c.version, -1)) };
        });
      d.dispatch({ effects: [setCursors.of(cursors), setComments.of(comments)] });
    }
  }

  /** The own cursor moved: the others learn of it, at most twice a second. */
  private moved(document: SharedDocument): void {
    const { anchor, head } = document.state.selection.main;
    this.showCursor({ text: document.id, anchor, head });
  }

  /** The person entered or left an editor. */
  focus(document: SharedDocument, focused: boolean): void {
    if (focused) this.moved(document);
    else if (this.cursor?.text === document.id) this.showCursor({ text: "", anchor: 0, head: 0 });
  }

  private showCursor(cursor: { text: string; anchor: number; head: number }): void {
    if (!this.writes) return;
    this.cursor = cursor;
    this.cursorTimer ??= setTimeout(() => void this.sendCursor(), Math.max(0, this.cursorSentAt + cursorGapMs - Date.now()));
  }

  private async sendCursor(): Promise<void> {
    this.cursorTimer = undefined;
    this.cursorSentAt = Date.now();
    const [cursor, document] = [this.cursor, this.documents.get(this.cursor?.text ?? "")];
    if (!cursor || this.snap.status !== "live") return;
    const place = document
      ? { text: cursor.text, version: document.version, anchor: document.toServer(cursor.anchor), head: document.toServer(cursor.head) }
      : {};
    // A lost cursor does no harm: the next one follows.
    await this.options.transport.call("POST", "presence", { client: this.client, ...place }).catch(() => {});
  }

  /** Comments on a range of a document. */
  comment(document: SharedDocument, range: { from: number; to: number }, body: string): Promise<Comment> {
    const place = { text: document.id, version: document.version, from: document.toServer(range.from), to: document.toServer(range.to) };
    return this.options.transport.call("POST", "comments", { ...place, body });
  }

  reply(parent: string, body: string): Promise<Comment> {
    return this.options.transport.call("POST", "comments", { parent, body });
  }

  changeComment(id: string, change: { body?: string; state?: "open" | "resolved" }): Promise<Comment> {
    return this.options.transport.call("PATCH", `comments/${id}`, change);
  }

  removeComment(id: string): Promise<unknown> {
    return this.options.transport.call("DELETE", `comments/${id}`);
  }

  /** Reads the structure again. */
  reread(): Promise<void> {
    return this.open("structure");
  }

  /** Waits until the server has accepted everything that was typed. False: it cannot be reached, or refuses something. */
  saved(): Promise<boolean> {
    return new Promise((resolve) => {
      const look = () => {
        const { unsent, status, problem } = this.snap;
        if (unsent > 0 && status === "live" && !problem) return;
        leave();
        resolve(unsent === 0);
      };
      const leave = this.subscribe(look);
      look();
    });
  }

  /** Changes the structure that the session last read. It rejects with status 412 if somebody else was faster. */
  async restructure(order: Schemas["DraftStructureOrder"]): Promise<void> {
    const headers = { "if-match": this.snap.structure?.etag ?? "" };
    await this.options.transport.call("PUT", "structure", order, headers);
    await this.open("structure");
  }
}

/** The server takes as many updates at once. */
const maxSubmission = 100;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The time before the next attempt, longer with each failure. */
const backoffMs = (failures: number) => Math.min(lastDelayMs, firstDelayMs * 2 ** failures) * (0.75 + Math.random() / 2);

function randomDigits(): string {
  return [...crypto.getRandomValues(new Uint8Array(10))].map((b) => (b % 36).toString(36)).join("");
}
