import { useEffect, useEffectEvent } from "react";
import { preferences } from "./preferences";

/** The keys of a shortcut (`"j"`, `"g h"`, `"mod+k"`, `"?"`) and the action. The action may return false to leave the key to others. */
export type Shortcuts = Record<string, (event: KeyboardEvent) => void | boolean>;

const sequenceMs = 1200;

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName) || target.closest("[role=textbox]") !== null;
}

/** The name of the pressed key, as shortcuts spell it. */
export function keyName(event: Pick<KeyboardEvent, "key" | "metaKey" | "ctrlKey" | "altKey">): string {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (event.altKey) return `alt+${key}`;
  return event.metaKey || event.ctrlKey ? `mod+${key}` : key === " " ? "Space" : key;
}

/** Listens for shortcuts on the page. They are silent while a person types, while a dialog is open, and when turned off. */
export function useShortcuts(shortcuts: Shortcuts, enabled = true): void {
  const actionFor = useEffectEvent((name: string) => shortcuts[name]);
  useEffect(() => {
    if (!enabled) return;
    let first = "";
    let firstAt = 0;
    const listen = (event: KeyboardEvent) => {
      if (event.defaultPrevented) return;
      const name = keyName(event);
      const withModifier = name.startsWith("mod+");
      if (!withModifier && (!preferences.get().shortcuts || isTyping(event.target))) return;
      if (!withModifier && document.querySelector("[data-open]:is([role=dialog],[role=alertdialog],[role=menu],[role=listbox])")) return;
      const sequence = first && event.timeStamp - firstAt < sequenceMs ? `${first} ${name}` : "";
      const action = (sequence && actionFor(sequence)) || actionFor(name);
      first = name;
      firstAt = event.timeStamp;
      if (action && action(event) !== false) {
        event.preventDefault();
        first = "";
      }
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, [enabled]);
}
