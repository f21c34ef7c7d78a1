import { useSyncExternalStore } from "react";

/** A value outside React that components follow. */
export interface Store<T> {
  get(): T;
  set(value: T | ((old: T) => T)): void;
  subscribe(listener: () => void): () => void;
}

export function createStore<T>(initial: T): Store<T> {
  let value = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      const fresh = typeof next === "function" ? (next as (old: T) => T)(value) : next;
      if (Object.is(fresh, value)) return;
      value = fresh;
      for (const listener of listeners) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useStore<T>(store: Store<T>): T {
  return useSyncExternalStore(store.subscribe, store.get);
}
