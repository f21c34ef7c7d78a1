import type { Hue } from "@/components/Chip";
import { createStore, useStore } from "@/hooks/store";

export interface Badge {
  text: string;
  hue: Hue;
}

const badges = createStore<Readonly<Record<string, Badge | undefined>>>({});

/** Sets the count beside a page of the sidebar: only where a person must act. */
export function setBadge(page: string, badge: Badge | undefined): void {
  badges.set((old) => (old[page]?.text === badge?.text && old[page]?.hue === badge?.hue ? old : { ...old, [page]: badge }));
}

export function useBadges() {
  return useStore(badges);
}

/** The pages that have a count now. */
export function badgedPages(): string[] {
  return Object.keys(badges.get()).filter((page) => badges.get()[page]);
}
