/*
 * Edits drafts with the real clients of the console, without a browser. TestEditorsConverge builds and runs it:
 *   node driver.mjs '{"servers": [...], "keys": [...], "scripts": 200, "seed": 1}'
 * In each script three editors on the servers change one draft at random, lose their connection, lose answers, and undo. Afterwards all texts
 * must be the same as on every server. It prints one line of JSON with figures, or ends with 1 and the reason.
 */
import { redo, undo } from "@codemirror/commands";
import type { SharedDocument } from "@/collab/document";
import { httpTransport } from "@/collab/http";
import { DraftSession } from "@/collab/session";
import { Refused, type Transport } from "@/collab/transport";

interface Order {
  servers: string[];
  keys: string[];
  scripts: number;
  seed: number;
}

const order = JSON.parse(process.argv[2] ?? "{}") as Order;
const initial = "You answer as {{brand}}.\nBe kind. 😀\r\nEnd";
const pieces = ["a", "bc", " ", "\n", "😀", "👩‍👩‍👧", "e\u0301", "日本", "{{x}}", "\r\n", "long text that is more than a word"];
const quietMs = 20_000;
const together = 6; // scripts at the same time

/** Random numbers below n that follow from a seed. */
function randomFrom(seed: number): (n: number) => number {
  let state = seed >>> 0;
  return (n) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}

/** A transport that can be cut: calls fail before the server has them, or behind it, and streams end. */
class Cut implements Transport {
  down = false;
  losing = 0;
  calls = 0;
  private streams = new Set<AbortController>();

  constructor(private readonly inner: Transport) {}

  async call<T>(...args: Parameters<Transport["call"]>): Promise<T> {
    if (this.down) throw new Refused(0, "cut");
    this.calls++;
    const answer = await this.inner.call<T>(...args);
    if (args[0] === "POST" && this.losing > 0) {
      this.losing--;
      throw new Refused(0, "the answer was lost");
    }
    if (this.down) throw new Refused(0, "cut");
    return answer;
  }

  async events(...[path, onEvent, signal]: Parameters<Transport["events"]>): Promise<void> {
    if (this.down) throw new Refused(0, "cut");
    const own = new AbortController();
    const end = () => own.abort();
    signal.addEventListener("abort", end);
    this.streams.add(own);
    try {
      await this.inner.events(path, (e) => !own.signal.aborted && onEvent(e), own.signal);
    } finally {
      signal.removeEventListener("abort", end);
      this.streams.delete(own);
    }
  }

  cut(): void {
    this.down = true;
    for (const s of this.streams) s.abort();
  }
}

interface Editor {
  session: DraftSession;
  cut: Cut;
  stop: () => void;
}

function draftURL(server: number, name: string): string {
  return `${order.servers[server % order.servers.length]}/v1/prompts/${name}/draft`;
}

function headers(key: number): Record<string, string> {
  return { authorization: `Bearer ${order.keys[key % order.keys.length]}` };
}

function editor(name: string, n: number): Editor {
  const cut = new Cut(httpTransport(draftURL(n, name), () => headers(n)));
  const session = new DraftSession({ transport: cut });
  return { session, cut, stop: session.start() };
}

/** Waits until a session fulfils a condition. Every change of it is looked at; nothing polls. */
function until(what: string, session: DraftSession, holds: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const over = () => {
      clearTimeout(timer);
      leave();
    };
    const look = () => {
      if (!holds()) return;
      over();
      resolve();
    };
    const timer = setTimeout(() => {
      over();
      reject(new Error(`${what}: not after ${quietMs} ms; ${JSON.stringify({ ...session.snapshot(), structure: null })}`));
    }, quietMs);
    const leave = session.subscribe(look);
    look();
  });
}

function only(session: DraftSession): SharedDocument {
  const [document] = session.documents.values();
  if (!document) throw new Error("the draft has no text");
  return document;
}

/** One random change. With a character, it inserts this character alone. */
function edit(d: SharedDocument, random: (n: number) => number, character: string | null): void {
  const length = d.state.doc.length;
  const [x, y] = [random(length + 1), random(length + 1)];
  if (character) {
    d.dispatch({ changes: { from: x, insert: character }, userEvent: "input" });
    return;
  }
  const kind = random(10);
  if (kind < 1) undo({ state: d.state, dispatch: (t) => d.take(t) });
  else if (kind < 5) d.dispatch({ changes: { from: x, insert: pieces[random(pieces.length)] ?? "" }, userEvent: "input.type" });
  else if (kind < 8)
    d.dispatch({ changes: { from: Math.min(x, y), to: Math.min(Math.max(x, y), Math.min(x, y) + 6) }, userEvent: "delete" });
  else
    d.dispatch({
      changes: { from: Math.min(x, y), to: Math.min(Math.max(x, y), Math.min(x, y) + 9), insert: pieces[random(pieces.length)] ?? "" },
    });
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function work(e: Editor, random: (n: number) => number, unique: (() => string) | null): Promise<void> {
  const d = only(e.session);
  for (let round = 3 + random(3); round > 0; round--) {
    const event = random(6);
    if (event === 0) e.cut.cut();
    if (event === 1) e.cut.losing++;
    for (let n = 1 + random(5); n > 0; n--) edit(d, random, unique ? unique() : null);
    if (!unique && random(4) === 0) own(d);
    await pause(random(12));
    if (e.cut.down && random(2)) reconnect(e);
  }
  reconnect(e);
}

/** Undoes and redoes as the keys do it. */
function own(d: SharedDocument): void {
  if (undo({ state: d.state, dispatch: (t) => d.take(t) })) redo({ state: d.state, dispatch: (t) => d.take(t) });
}

function reconnect(e: Editor): void {
  e.cut.down = false;
  e.session.connectNow();
}

async function ask<T>(url: string, init: RequestInit = {}): Promise<T> {
  const response = await fetch(url, { ...init, headers: { ...headers(0), "content-type": "application/json" } });
  const text = await response.text();
  if (!response.ok) throw new Error(`${init.method ?? "GET"} ${url}: ${response.status} ${text}`);
  return JSON.parse(text) as T;
}

interface Texts {
  texts: { id: string; version: number; text: string }[];
}

async function script(n: number): Promise<{ calls: number; updates: number }> {
  const random = randomFrom(order.seed * 7919 + n);
  const name = `converge/s${order.seed}-${n}`;
  await ask(draftURL(0, name), { method: "PUT", body: JSON.stringify({ kind: "text", text: initial }) });
  const editors = [0, 1, random(2)].map((server) => editor(name, server));
  try {
    await Promise.all(editors.map((e) => until("open", e.session, () => e.session.snapshot().status === "live")));
    let next = 0xe000;
    const characters = n % 4 === 0 ? () => String.fromCharCode(next++) : null;
    await Promise.all(editors.map((e) => work(e, random, characters)));
    for (const e of editors) reconnect(e);
    await Promise.all(editors.map((e) => until("save", e.session, () => only(e.session).unsent.length === 0)));
    const servers = await Promise.all(order.servers.map((_, s) => ask<Texts>(`${draftURL(s, name)}/structure`)));
    const want = servers[0]?.texts[0];
    if (!want) throw new Error("the server has no text");
    await Promise.all(editors.map((e) => until("catch up", e.session, () => only(e.session).version >= want.version)));
    const texts = [...editors.map((e) => only(e.session).text), ...servers.map((s) => s.texts[0]?.text)];
    const different = texts.find((t) => t !== want.text);
    if (different !== undefined) throw new Error(`script ${n}: texts differ:\n${texts.map((t) => JSON.stringify(t)).join("\n")}`);
    for (let c = 0xe000; c < next; c++) {
      const times = want.text.split(String.fromCharCode(c)).length - 1;
      if (times !== 1) throw new Error(`script ${n}: a character that was typed once is there ${times} times`);
    }
    const first = await ask<{ text: string }>(`${draftURL(1, name)}/texts/${want.id}?version=0`);
    if (first.text !== initial) throw new Error(`script ${n}: the log leads back to ${JSON.stringify(first.text)}`);
    return { calls: editors.reduce((sum, e) => sum + e.cut.calls, 0), updates: want.version };
  } finally {
    for (const e of editors) e.stop();
  }
}

async function main(): Promise<void> {
  const begun = Date.now();
  const sum = { scripts: 0, calls: 0, updates: 0 };
  let next = 0;
  await Promise.all(
    Array.from({ length: together }, async () => {
      while (next < order.scripts) {
        const done = await script(next++);
        sum.scripts++;
        sum.calls += done.calls;
        sum.updates += done.updates;
      }
    }),
  );
  process.stdout.write(`${JSON.stringify({ ...sum, ms: Date.now() - begun })}\n`);
}

main().then(
  () => process.exit(0),
  (cause: unknown) => {
    process.stderr.write(`${cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)}\n`);
    process.exit(1);
  },
);
