import { useSyncExternalStore } from "react";

/** Whether a media query matches. */
export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (changed) => {
      const list = window.matchMedia(query);
      list.addEventListener("change", changed);
      return () => list.removeEventListener("change", changed);
    },
    () => window.matchMedia(query).matches,
  );
}

/** A phone: the sidebar is a drawer and rows stack. */
export const useNarrow = () => useMedia("(max-width: 767.9px)");
