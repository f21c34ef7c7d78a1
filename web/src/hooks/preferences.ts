import type { Zone } from "@/format";
import { createStore, type Store, useStore } from "./store";

export type Theme = "light" | "dark" | "system";

/** How high the rows of tables are. */
export type Density = "compact" | "normal" | "roomy";

export interface Preferences {
  theme: Theme;
  density: Density;
  zone: Zone;
  shortcuts: boolean;
  rail: boolean; // the sidebar as icons
  wideRail: boolean; // the same, on pages that need the width
  tenant: string; // the last one chosen
}

const key = "penstock.preferences";
const defaults: Preferences = {
  theme: "system",
  density: "normal",
  zone: "local",
  shortcuts: true,
  rail: false,
  wideRail: true,
  tenant: "",
};

function load(): Preferences {
  try {
    return { ...defaults, ...(JSON.parse(localStorage.getItem(key) ?? "{}") as Partial<Preferences>) };
  } catch {
    return defaults; // storage may be off
  }
}

/** The choices of this person in this browser. They hold no secret. */
export const preferences: Store<Preferences> = createStore(load());

export function setPreference<K extends keyof Preferences>(name: K, value: Preferences[K]): void {
  preferences.set((old) => ({ ...old, [name]: value }));
  try {
    localStorage.setItem(key, JSON.stringify(preferences.get()));
  } catch {
    // The choice holds until the page is closed.
  }
}

export function usePreferences(): Preferences {
  return useStore(preferences);
}

/** Puts the theme on the document, now and after each change. */
export function applyTheme(): void {
  const apply = () => {
    const { theme } = preferences.get();
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  };
  apply();
  preferences.subscribe(apply);
}
