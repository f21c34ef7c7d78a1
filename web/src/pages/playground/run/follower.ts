import { api, dataOf } from "@/api";
import { createStore, type Store } from "@/hooks/store";
import type { Run } from "../api";
import { applyEvent, type Followed, withRead } from "./apply";
import { RunStream, type StreamState } from "./stream";

/** What the page knows of the run that it shows. */
export interface RunState {
  followed: Followed | null;
  /** Why the run cannot be read. */
  error: unknown;
  stream: StreamState | null;
  loading: boolean;
}

export const noRun: RunState = { followed: null, error: null, stream: null, loading: false };

/** How often the page shows new text: 20 times a second looks like a stream, and leaves time for four of them. */
const tellMs = 50;

/** Reads a run and follows it until its end. Everything that it shows is on the server: a reload begins here again. */
export class RunFollower {
  readonly state: Store<RunState> = createStore<RunState>(noRun);
  private now: Followed | null = null;
  private stream: RunStream | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private reading = false;
  private readAgain = false;

  /** A snapshot is not `live`: it stays as it is, and the server has no marks on it. */
  constructor(
    private readonly tenant: string,
    readonly id: string,
    readonly live = true,
  ) {}

  /** Begins with a run that the server just answered, or reads it first. */
  start(known?: Run): void {
    if (known) this.take(known);
    else void this.read();
  }

  close(): void {
    this.stream?.close();
    this.stream = undefined;
    clearTimeout(this.timer);
  }

  /** Reads the run again: after a gap, at its end, or after an act that changed it. */
  async read(): Promise<void> {
    this.readAgain = this.reading; // what was asked for meanwhile may not be in the answer
    if (this.reading) return;
    this.reading = true;
    this.state.set((old) => ({ ...old, loading: old.followed === null, error: null }));
    try {
      this.take(await dataOf(api(this.tenant).GET("/v1/playground/runs/{id}", { params: { path: { id: this.id } } })));
    } catch (error) {
      this.state.set((old) => ({ ...old, error, loading: false }));
    } finally {
      this.reading = false;
    }
    if (this.readAgain) await this.read();
  }

  /** Takes over a run that the server answered, and follows it while it runs. */
  take(run: Run): void {
    this.now = withRead(run, this.now);
    this.tell();
    if (this.now.run.state !== "running" || this.stream || !this.live) return;
    const stream = new RunStream(
      this.tenant,
      { id: this.id, cursor: run.cursor },
      {
        onEvent: (event) => {
          if (!this.now) return;
          const { now, need } = applyEvent(this.now, event);
          this.now = now;
          this.timer ??= setTimeout(() => this.tell(), tellMs);
          if (need === "read") void this.read();
        },
        onState: (state, error) => {
          if (state === "ended" || state === "failed") this.stream = undefined;
          this.state.set((old) => ({ ...old, stream: state, error: error ?? old.error }));
        },
      },
    );
    this.stream = stream;
    void stream.read();
  }

  /** A change that the page knows before the server has answered, such as a rating. */
  change(change: (run: Run) => Run): void {
    if (!this.now) return;
    this.now = { ...this.now, run: change(this.now.run) };
    this.tell();
  }

  private tell(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const followed = this.now;
    this.state.set((old) => ({ ...old, followed, loading: false }));
  }
}
