import { useEffect, useSyncExternalStore } from "react";
import { createStore, useStore } from "./store";

const now = createStore(Date.now());
let readers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

function useTicking(): void {
  useEffect(() => {
    if (readers++ === 0) {
      now.set(Date.now());
      timer = setInterval(() => now.set(Date.now()), 1000);
    }
    return () => {
      if (--readers === 0) clearInterval(timer);
    };
  }, []);
}

/** The time, once a second: one timer for all readers, none without readers. */
export function useNow(): number {
  useTicking();
  return useStore(now);
}

/** The beginning of the minute: its readers render once a minute. */
export function useMinute(): number {
  useTicking();
  return useSyncExternalStore(now.subscribe, () => Math.floor(now.get() / 60_000) * 60_000);
}
