import { useEffect, useMemo, useSyncExternalStore } from "react";
import { basePath } from "@/api";
import { callHeaders } from "@/api/client";
import type { Saved } from "./document";
import { httpTransport } from "./http";
import { DraftSession, type Keeper, type Snapshot } from "./session";

/** Keeps changes that were not sent until this window is closed. */
function windowKeeper(key: string): Keeper {
  return {
    load() {
      try {
        return JSON.parse(sessionStorage.getItem(key) ?? "[]") as Saved[];
      } catch {
        return [];
      }
    },
    store(saved) {
      try {
        if (saved.length > 0) sessionStorage.setItem(key, JSON.stringify(saved));
        else sessionStorage.removeItem(key);
      } catch {
        // The storage is full or forbidden: the changes are in memory only.
      }
    },
  };
}

/** The path of a prompt, whose name has folders. */
export function promptPath(name: string): string {
  return `/v1/prompts/${name.split("/").map(encodeURIComponent).join("/")}`;
}

/**
 * Opens the draft of a prompt to edit it with others, while the component is mounted. The draft must exist: PUT …/draft makes one.
 *
 *   const draft = useDraft(tenant, "support/answer", useRole(tenant, "developer"));
 *   draft.structure?.texts.map((t) => <SharedText key={t.id} draft={draft} text={t.id} label={t.where} />)
 */
export function useDraft(tenant: string, name: string, writes: boolean): Snapshot & { session: DraftSession } {
  const session = useMemo(
    () =>
      new DraftSession({
        transport: httpTransport(`${basePath}${promptPath(name)}/draft`, (method) => callHeaders(tenant, method)),
        keeper: windowKeeper(`penstock.draft.${tenant}.${name}`),
        writes,
      }),
    [tenant, name, writes],
  );
  useEffect(() => {
    const handle = session.start();
    window.addEventListener("online", session.connectNow);
    window.addEventListener("offline", session.disconnect);
    return () => {
      window.removeEventListener("online", session.connectNow);
      window.removeEventListener("offline", session.disconnect);
      handle();
    };
  }, [session]);
  const snapshot = useSyncExternalStore(session.subscribe, session.snapshot);
  return { ...snapshot, session };
}
