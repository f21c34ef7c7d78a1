import { basePath, type Schemas } from "@/api";
import { callHeaders } from "@/api/client";
import { asApiError, errorOf } from "@/api/error";
import { backoff } from "@/live/connection";
import { EventReader } from "@/live/sse";

export type JobEvent = Schemas["Event"];

/** What a page knows of the events of a job. */
export interface Followed {
  /** The newest events, the oldest first. */
  events: readonly JobEvent[];
  /** The text that was streamed, by item. */
  texts: ReadonlyMap<string, string>;
  /** full: as many events as a page reads at a time; more may follow. */
  state: "reading" | "ended" | "full" | "failed";
  error?: unknown;
}

export const nothingFollowed: Followed = { events: [], texts: new Map(), state: "reading" };

/** Adds an event: deltas lengthen the text of their item, a reset makes it void. */
export function follow(texts: Map<string, string>, event: JobEvent): void {
  if (!event.item_id) return;
  const text = (event.data as { text?: unknown } | null)?.text;
  if (event.type === "item.delta" && typeof text === "string") texts.set(event.item_id, (texts.get(event.item_id) ?? "") + text);
  if (event.type === "item.reset") texts.delete(event.item_id);
}

const keptEvents = 1_000;
const tellMs = 100;

/** Reads the event stream of a job from its start; it resumes after failures and stops behind job.finished, or at a bound. */
export class JobStream {
  private readonly stop = new AbortController();
  private events: JobEvent[] = [];
  private readonly texts = new Map<string, string>();
  private read = 0;
  private bound: number;
  private after = "";
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly tenant: string,
    private readonly job: string,
    bound: number,
    private readonly tell: (now: Followed) => void,
  ) {
    this.bound = bound;
  }

  async run(): Promise<void> {
    for (let attempt = 0; !this.stop.signal.aborted; attempt++) {
      try {
        const state = await this.readOnce();
        if (state !== "reading") return this.say(state);
        attempt = 0;
      } catch (error) {
        const e = asApiError(error);
        if (this.stop.signal.aborted) return;
        if (e.status >= 400 && e.status < 500 && e.status !== 429) return this.say("failed", e);
      }
      await new Promise((resolve) => setTimeout(resolve, backoff(attempt)));
    }
  }

  /** Reads on behind the bound. */
  more(count: number): void {
    this.bound += count;
    this.say("reading");
    void this.run();
  }

  close(): void {
    this.stop.abort();
    clearTimeout(this.timer);
  }

  private async readOnce(): Promise<Followed["state"]> {
    const query = this.after ? `?after=${this.after}` : "";
    const response = await fetch(`${basePath}/v1/jobs/${this.job}/events${query}`, {
      headers: { accept: "text/event-stream", ...callHeaders(this.tenant, "GET") },
      credentials: "same-origin",
      cache: "no-store",
      signal: this.stop.signal,
    });
    if (!response.ok || !response.body) throw await errorOf(response);
    const text = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const reader = new EventReader();
    for (;;) {
      const { done, value } = await text.read();
      if (done) return "reading";
      for (const { data } of reader.push(value)) {
        const state = this.take(JSON.parse(data) as JobEvent);
        if (state === "reading") continue;
        await text.cancel();
        return state;
      }
    }
  }

  private take(event: JobEvent): Followed["state"] {
    this.after = String(event.seq);
    this.read++;
    this.events.push(event);
    if (this.events.length > 2 * keptEvents) this.events = this.events.slice(-keptEvents);
    follow(this.texts, event);
    this.timer ??= setTimeout(() => this.say("reading"), tellMs);
    if (event.type === "job.finished") return "ended";
    return this.read >= this.bound ? "full" : "reading";
  }

  private say(state: Followed["state"], error?: unknown): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.tell({ events: this.events.slice(-keptEvents), texts: new Map(this.texts), state, error });
  }
}
