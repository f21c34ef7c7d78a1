import { createStore, type Store } from "@/hooks/store";

/** The scenarios of this browser by their name. They hold names of tenants, models and targets, and no payloads. */
export type Saved = Readonly<Record<string, string>>;

const key = "penstock.scenarios";
const mostSaved = 20;

function load(): Saved {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(key) ?? "{}");
    if (typeof found !== "object" || found === null) return {};
    return Object.fromEntries(Object.entries(found).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
  } catch {
    return {}; // storage may be off
  }
}

export const saved: Store<Saved> = createStore(typeof localStorage === "undefined" ? {} : load());

function keep(next: Saved): void {
  saved.set(next);
  try {
    localStorage.setItem(key, JSON.stringify(next));
  } catch {
    // The scenario holds until the page is closed.
  }
}

export function saveScenario(name: string, text: string): void {
  const rest = Object.entries(saved.get()).filter(([other]) => other !== name);
  keep(Object.fromEntries([[name, text] as const, ...rest].slice(0, mostSaved)));
}

export function deleteScenario(name: string): void {
  keep(Object.fromEntries(Object.entries(saved.get()).filter(([other]) => other !== name)));
}

export function renameScenario(name: string, next: string): void {
  keep(Object.fromEntries(Object.entries(saved.get()).map(([other, text]) => [other === name ? next : other, text])));
}

/** A name that no scenario has: `Scenario 1`, `Scenario 2`. */
export function freeName(known: Saved): string {
  for (let n = 1; ; n++) if (!Object.hasOwn(known, `Scenario ${n}`)) return `Scenario ${n}`;
}
