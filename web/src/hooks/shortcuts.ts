import { useEffect, useEffectEvent } from "react";
import { preferences } from "./preferences";

/** The keys of a shortcut (`"j"`, `"g h"`, `"mod+k"`, `"?"`) and the action. The action may return false to leave the key to others. */
export type Shortcuts = Record<string, (event: KeyboardEvent) => void | boolean>;

const sequenceMs = 1200;

/** Whether a person types. An editor is in a shadow root, and the target of its events is the element around it. */
function isTyping(event: KeyboardEvent): boolean {
  const [target] = event.composedPath();
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.closest("input:not([type=checkbox]), textarea, select, [role=textbox]") !== null;
}

/** The name of the pressed key, as shortcuts spell it. */
export function keyName(event: Pick<KeyboardEvent, "key" | "metaKey" | "ctrlKey" | "altKey">): string {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (event.altKey) return `alt+${key}`;
  return event.metaKey || event.ctrlKey ? `mod+${key}` : key === " " ? "Space" : key;
}

/** The name of the key that ⌘K and ⌘Enter need on this machine. */
export const modKey = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘" : "Ctrl";

type Lookup = (name: string) => Shortcuts[string] | undefined;

/** The actions for a pressed key, in their order. A sequence (`g j`) wins over the single key (`j`) of any component. */
export function actionsFor(listeners: Iterable<Lookup>, before: string, name: string): Shortcuts[string][] {
  const all = [...listeners];
  const found = (keys: string) => all.flatMap((lookup) => lookup(keys) ?? []);
  const sequence = before ? found(`${before} ${name}`) : [];
  return sequence.length > 0 ? sequence : found(name);
}

const listeners = new Set<Lookup>();
let before = "";
let beforeAt = 0;

function listen(event: KeyboardEvent): void {
  if (event.defaultPrevented) return;
  const name = keyName(event);
  const withModifier = name.startsWith("mod+");
  if (!withModifier && (!preferences.get().shortcuts || isTyping(event))) return;
  if (!withModifier && document.querySelector("[data-open]:is([role=dialog],[role=alertdialog],[role=menu],[role=listbox])")) return;
  const actions = actionsFor(listeners, event.timeStamp - beforeAt < sequenceMs ? before : "", name);
  before = name;
  beforeAt = event.timeStamp;
  for (const action of actions) {
    if (action(event) === false) continue;
    event.preventDefault();
    before = "";
    return;
  }
}

/** Listens for shortcuts on the page. They are silent while a person types, while a dialog is open, and when turned off. */
export function useShortcuts(shortcuts: Shortcuts, enabled = true): void {
  const actionFor = useEffectEvent((name: string) => shortcuts[name]);
  useEffect(() => {
    if (!enabled) return;
    const lookup: Lookup = (name) => actionFor(name);
    if (listeners.size === 0) window.addEventListener("keydown", listen);
    listeners.add(lookup);
    return () => {
      listeners.delete(lookup);
      if (listeners.size === 0) window.removeEventListener("keydown", listen);
    };
  }, [enabled]);
}
