import { useEffect, useState } from "react";
import { useShortcuts } from "@/hooks/shortcuts";

export interface GridKeys {
  count: number;
  idAt: (index: number) => string | undefined;
  onOpen?: ((index: number) => void) | undefined;
  onPeek?: ((index: number) => void) | undefined;
  onMove?: ((index: number) => void) | undefined;
  onToggle?: ((index: number) => void) | undefined;
  onClear?: (() => void) | undefined;
  scrollTo: (index: number) => void;
}

/** j k x Space Enter Esc on a list. The current row follows its id, so new rows above do not move it. */
export function useGridKeys(keys: GridKeys) {
  const [current, setCurrent] = useState<{ index: number; id: string | undefined }>({ index: -1, id: undefined });

  useEffect(() => {
    if (current.index < 0 || keys.idAt(current.index) === current.id) return;
    for (let i = 0; i < keys.count; i++) {
      if (keys.idAt(i) === current.id) {
        setCurrent({ index: i, id: current.id });
        return;
      }
    }
    setCurrent({ index: -1, id: undefined });
  }, [current, keys]);

  const move = (by: number) => {
    if (keys.count === 0) return;
    const index = Math.min(keys.count - 1, Math.max(0, current.index + by));
    setCurrent({ index, id: keys.idAt(index) });
    keys.scrollTo(index);
    keys.onMove?.(index);
  };
  const onRow = (act: ((index: number) => void) | undefined) => (event: KeyboardEvent) => {
    const pressed = event.target instanceof HTMLElement && event.target.closest("button,a,input");
    if (!act || current.index < 0 || pressed) return false;
    act(current.index);
    return undefined;
  };
  useShortcuts({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: (e) => (inGrid(e) ? move(1) : false),
    ArrowUp: (e) => (inGrid(e) ? move(-1) : false),
    x: onRow(keys.onToggle),
    Space: onRow(keys.onPeek ?? keys.onToggle),
    Enter: onRow(keys.onOpen),
    Escape: () => {
      if (keys.onClear) return keys.onClear();
      setCurrent({ index: -1, id: undefined });
      return undefined;
    },
  });
  return { current: current.index, setCurrent: (index: number) => setCurrent({ index, id: keys.idAt(index) }) };
}

function inGrid(event: KeyboardEvent): boolean {
  return event.target instanceof HTMLElement && event.target.closest("[role=grid]") !== null;
}
