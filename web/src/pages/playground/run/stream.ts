import { basePath } from "@/api";
import { callHeaders, signedOut } from "@/api/client";
import { asApiError, errorOf } from "@/api/error";
import { backoff } from "@/live/connection";
import { EventReader, type ServerEvent } from "@/live/sse";

export type StreamState = "open" | "reconnecting" | "ended" | "failed";

export interface StreamListener {
  onEvent: (event: ServerEvent) => void;
  /** `failed` comes with the error of the server, and is the last. */
  onState: (state: StreamState, error?: unknown) => void;
}

/** Reads the events of a run until its last one. It reconnects after failures, and goes on behind the event that it read last. */
export class RunStream {
  private readonly stop = new AbortController();
  private lastId: string;
  private ended = false;

  /** The stream begins behind the cursor of a run that was read. */
  constructor(
    private readonly tenant: string,
    private readonly run: { id: string; cursor: string },
    private readonly listener: StreamListener,
  ) {
    this.lastId = run.cursor;
  }

  async read(): Promise<void> {
    for (let attempt = 0; !this.stop.signal.aborted; attempt++) {
      try {
        if (await this.readOnce()) attempt = -1; // it delivered something: the next attempt comes soon
        if (this.ended) return this.listener.onState("ended");
      } catch (error) {
        const e = asApiError(error);
        if (this.stop.signal.aborted) return;
        if (e.status === 401) signedOut();
        if (e.status >= 400 && e.status < 500 && e.status !== 429) return this.listener.onState("failed", e);
      }
      if (this.stop.signal.aborted) return;
      this.listener.onState("reconnecting");
      await new Promise((resolve) => setTimeout(resolve, backoff(Math.max(0, attempt)) / 2));
    }
  }

  close(): void {
    this.stop.abort();
  }

  /** Reads until the connection ends. True: it delivered an event. */
  private async readOnce(): Promise<boolean> {
    const response = await fetch(`${basePath}/v1/playground/runs/${encodeURIComponent(this.run.id)}/events`, {
      headers: {
        accept: "text/event-stream",
        ...callHeaders(this.tenant, "GET"),
        ...(this.lastId ? { "last-event-id": this.lastId } : {}),
      },
      credentials: "same-origin",
      cache: "no-store",
      signal: this.stop.signal,
    });
    if (!response.ok || !response.body) throw await errorOf(response);
    this.listener.onState("open");
    const text = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const reader = new EventReader();
    let delivered = false;
    for (;;) {
      const { done, value } = await text.read();
      if (done) return delivered;
      for (const event of reader.push(value)) {
        delivered = true;
        this.lastId = event.id || this.lastId;
        this.listener.onEvent(event);
        if (event.type === "run") this.ended = true;
      }
      if (this.ended) {
        await text.cancel();
        return true;
      }
    }
  }
}
