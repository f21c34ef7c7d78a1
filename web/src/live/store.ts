import { createStore, useStore } from "@/hooks/store";

export type Connection = "off" | "connecting" | "open" | "reconnecting" | "stale";

export interface LiveState {
  /** The person stopped the page: nothing is read again until it goes on. */
  paused: boolean;
  connection: Connection;
  /** When the page last read data. */
  asOf: number;
  /** Events since the pause. */
  missed: number;
}

export const live = createStore<LiveState>({ paused: false, connection: "off", asOf: Date.now(), missed: 0 });

export function useLiveState(): LiveState {
  return useStore(live);
}

export function setConnection(connection: Connection): void {
  live.set((old) => (old.connection === connection ? old : { ...old, connection }));
}

/** Marks that data was read now; once a second is enough. */
export function markRead(): void {
  live.set((old) => (Date.now() - old.asOf < 1000 ? old : { ...old, asOf: Date.now() }));
}
