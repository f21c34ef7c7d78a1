import { type RefObject, useLayoutEffect, useRef } from "react";

/** Keeps the visible rows in their place when rows are inserted above them, unless the list is at its top. */
export function useStay(scroller: RefObject<HTMLDivElement | null>, ids: readonly string[], height: number): void {
  const [first] = ids;
  const known = useRef(first);
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows were inserted when the first one changed.
  useLayoutEffect(() => {
    const inserted = known.current === undefined ? 0 : ids.indexOf(known.current);
    if (inserted > 0 && scroller.current && scroller.current.scrollTop > 0) scroller.current.scrollTop += inserted * height;
    known.current = first;
  }, [first]);
}
