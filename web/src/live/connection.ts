import { basePath } from "@/api";
import { callHeaders, signedOut } from "@/api/client";
import { EventReader, type ServerEvent } from "./sse";
import { setConnection } from "./store";

const staleMs = 10_000;
const firstDelayMs = 1_000;
const lastDelayMs = 30_000;
const againMs = 250; // after a stream that lived: its session may have ended, and the page must know within a second
const livedMs = 1_000;

/** The delay before the nth attempt to connect: doubling, with jitter, so that 100 consoles do not return at once. */
export function backoff(attempt: number, random = Math.random()): number {
  const full = Math.min(lastDelayMs, firstDelayMs * 2 ** attempt);
  return full / 2 + (full / 2) * random;
}

/** One event stream: it reconnects after failures and resumes behind the last event. */
export class Connection {
  private stop = new AbortController();
  private reader = new EventReader();
  private attempt = 0;
  private openedBefore = false;
  private stale = false;
  private openedAt = 0;
  private staleTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly tenant: string | null,
    private readonly onEvent: (event: ServerEvent) => void,
    private readonly onMissing: () => void,
  ) {}

  async run(): Promise<void> {
    setConnection("connecting");
    while (!this.stop.signal.aborted) {
      try {
        if (!(await this.readOnce())) {
          setConnection("off");
          this.onMissing();
          return;
        }
      } catch {
        // The connection broke; the loop opens it again.
      }
      if (this.stop.signal.aborted) return;
      if (!this.stale) setConnection("reconnecting"); // a failed attempt does not take the banner away
      this.staleTimer ??= setTimeout(() => this.becomeStale(), staleMs);
      const lived = this.openedAt > 0 && Date.now() - this.openedAt > livedMs;
      this.openedAt = 0;
      await sleep(lived ? Math.random() * againMs : backoff(this.attempt++), this.stop.signal);
    }
  }

  close(): void {
    this.stop.abort();
    clearTimeout(this.staleTimer);
  }

  /** Reads until the stream ends. False: the server has no such route for this person. */
  private async readOnce(): Promise<boolean> {
    const path = this.tenant === null ? "/admin/v1/live" : "/v1/live";
    const headers: Record<string, string> = { accept: "text/event-stream", ...callHeaders(this.tenant, "GET") };
    if (this.reader.lastId) headers["last-event-id"] = this.reader.lastId;
    const response = await fetch(basePath + path, { headers, credentials: "same-origin", cache: "no-store", signal: this.stop.signal });
    if (response.status === 401) signedOut();
    if (response.status >= 400 && response.status < 500 && response.status !== 429) return false;
    if (!response.ok || !response.body) throw new Error(`status ${response.status}`);
    this.opened();
    const text = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await text.read();
      if (done) return true;
      for (const event of this.reader.push(value)) this.onEvent(event);
    }
  }

  /** The page stays stale until a stream opens, however often one fails before. */
  private becomeStale(): void {
    this.stale = true;
    setConnection("stale");
  }

  private opened(): void {
    // The server goes on behind the last event, or says reset. After a long gap, or where no event has come yet, the page reads again by itself.
    if (this.stale || (this.openedBefore && !this.reader.lastId)) this.onEvent({ id: this.reader.lastId, type: "reset", data: "{}" });
    this.openedBefore = true;
    this.stale = false;
    this.attempt = 0;
    this.openedAt = Date.now();
    clearTimeout(this.staleTimer);
    this.staleTimer = undefined;
    setConnection("open");
  }
}

const wakeUp = new EventTarget();

/** Connects now, where a connection waits for its next attempt. */
export function connectNow(): void {
  wakeUp.dispatchEvent(new Event("now"));
}

/** Waits for a time, for the end of the connection, for connectNow, or until the machine is online again. */
function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = new AbortController();
    const done = () => {
      clearTimeout(timer);
      over.abort();
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { signal: over.signal });
    wakeUp.addEventListener("now", done, { signal: over.signal });
    window.addEventListener("online", done, { signal: over.signal });
  });
}
