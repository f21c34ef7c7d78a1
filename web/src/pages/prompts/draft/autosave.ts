/** Where an autosave stands. */
export type SaveState = "saved" | "waiting" | "saving" | "failed";

/**
 * Saves the newest value after a pause, one save at a time. A value that changes during a save is saved after it. After a failure it waits
 * until the next change, or until somebody calls flush.
 */
export class Autosave<T> {
  private value: T | undefined;
  private fresh = false; // the value was not saved yet
  private timer: ReturnType<typeof setTimeout> | undefined;
  private running: Promise<void> | undefined;

  constructor(
    private readonly save: (value: T) => Promise<void>,
    private readonly onState: (state: SaveState, error: unknown) => void,
    private readonly waitMs = 600,
  ) {}

  /** There is a new value. */
  change(value: T): void {
    this.value = value;
    this.fresh = true;
    if (!this.running) this.onState("waiting", null);
    this.schedule(this.waitMs);
  }

  /** Saves now what is not saved, and waits for it. Returns whether everything is saved. */
  async flush(): Promise<boolean> {
    clearTimeout(this.timer);
    await this.running;
    if (this.fresh) await this.run();
    return !this.fresh;
  }

  /** Forgets a value that is not saved. */
  forget(): void {
    clearTimeout(this.timer);
    this.fresh = false;
  }

  get dirty(): boolean {
    return this.fresh || this.running !== undefined;
  }

  private schedule(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (!this.running) void this.run();
    }, ms);
  }

  private run(): Promise<void> {
    this.running = this.once().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  private async once(): Promise<void> {
    const value = this.value as T;
    this.fresh = false;
    this.onState("saving", null);
    try {
      await this.save(value);
    } catch (error) {
      this.fresh = true;
      this.onState("failed", error);
      return;
    }
    this.onState(this.fresh ? "waiting" : "saved", null);
    if (this.fresh) this.schedule(this.waitMs);
  }
}
