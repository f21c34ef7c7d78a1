import { useEffect } from "react";
import { createStore, useStore } from "./store";

const now = createStore(Date.now());
let readers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** The time, once a second: one timer for all readers, none without readers. */
export function useNow(): number {
  useEffect(() => {
    if (readers++ === 0) {
      now.set(Date.now());
      timer = setInterval(() => now.set(Date.now()), 1000);
    }
    return () => {
      if (--readers === 0) clearInterval(timer);
    };
  }, []);
  return useStore(now);
}
