import { useEffect } from "react";
import { type PaletteEntry, setPageActions } from "./palette";

/** Offers actions of the page in the palette. Give a stable list (useMemo). */
export function useActions(actions: readonly PaletteEntry[]): void {
  useEffect(() => {
    setPageActions(actions);
    return () => setPageActions([]);
  }, [actions]);
}
