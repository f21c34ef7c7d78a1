import type { Schemas } from "@/api";
import type { PickerEntry } from "@/components/Picker";
import { createStore, useStore } from "@/hooks/store";

/** An entry of the palette. */
export type PaletteEntry = PickerEntry;

/** Ids that the palette opens: the prefix, and the path in the tenant. A page engineer adds the ids of a new page. */
export const idPages: readonly { prefix: string; title: string; path: (id: string) => string }[] = [
  { prefix: "job_", title: "Open job", path: (id) => `jobs/${id}` },
  { prefix: "item_", title: "Open item", path: (id) => `items/${id}` },
  { prefix: "batch_", title: "Open batch", path: (id) => `batches/${id}` },
  { prefix: "msgbatch_", title: "Open batch", path: (id) => `batches/${id}` },
  { prefix: "whk_", title: "Open endpoint", path: (id) => `webhooks/${id}` },
  { prefix: "dlv_", title: "Open delivery", path: (id) => `deliveries/${id}` },
  { prefix: "req_", title: "Open request", path: (id) => `requests/${id}` },
  { prefix: "file_", title: "Open file", path: (id) => `files/${id}` },
];

/** The page of an id, if text is one. */
export function pageOfId(text: string): { title: string; path: string } | null {
  const id = text.trim();
  if (!/^[a-z]+_[0-9A-Za-z]{4,}$/.test(id)) return null;
  const page = idPages.find((p) => id.startsWith(p.prefix));
  return page ? { title: `${page.title} ${id}`, path: page.path(id) } : null;
}

/** The id in typed text, with or without its prefix, if it is a whole one. */
export function idIn(text: string): string | null {
  const id = text.trim();
  return /^([a-z]+_[0-9A-Za-z]{20,}|[0-9A-HJKMNP-TV-Z]{26})$/.test(id) ? id : null;
}

const kinds: Record<string, string> = { message_batch: "message batch", webhook: "endpoint" };

/** Where an object that the server found is shown: on its own page, or on that of its job. */
export function pageOfFound(found: Schemas["Lookup"]): { title: string; path: string } | null {
  const own = pageOfId(found.id) ?? (found.job_id ? pageOfId(found.job_id) : null);
  return own && { title: `Open ${kinds[found.object] ?? found.object} ${found.id}`, path: own.path };
}

/** How well an entry fits the typed words: all must start a word of its title. Lower is better; null: it does not fit. */
export function matchOf(title: string, typed: string): number | null {
  const words = title.toLowerCase().split(/[\s/&]+/);
  let score = 0;
  for (const part of typed.toLowerCase().split(/\s+/).filter(Boolean)) {
    const at = words.findIndex((w) => w.startsWith(part));
    if (at < 0) return null;
    score += at;
  }
  return score;
}

const pageActions = createStore<readonly PaletteEntry[]>([]);

/** The actions of the current page; see useActions. */
export function usePageActions() {
  return useStore(pageActions);
}

export function setPageActions(actions: readonly PaletteEntry[]): void {
  pageActions.set(actions);
}
