import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { basePath } from "@/api";
import { callHeaders } from "@/api/client";
import type { Saved } from "./document";
import { httpTransport } from "./http";
import type { DraftSession, Keeper, Snapshot } from "./session";

export type Draft = Snapshot & { session: DraftSession };

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

const never = () => () => {};
const nothing = () => null;

/** Opens the draft of a prompt to edit it with others, while the component is mounted. It is null until the code of the editor is here. */
export function useSharedDraft(tenant: string, name: string, { writes, open }: { writes: boolean; open: boolean }): Draft | null {
  const [session, setSession] = useState<DraftSession | null>(null);
  useEffect(() => {
    if (!open) return;
    let leave = () => {};
    let left = false;
    void import("./session").then((code) => {
      if (left) return;
      const made = new code.DraftSession({
        transport: httpTransport(`${basePath}${promptPath(name)}/draft`, (method) => callHeaders(tenant, method)),
        keeper: windowKeeper(`penstock.draft.${tenant}.${name}`),
        writes,
      });
      const stop = made.start();
      window.addEventListener("online", made.connectNow);
      window.addEventListener("offline", made.disconnect);
      leave = () => {
        window.removeEventListener("online", made.connectNow);
        window.removeEventListener("offline", made.disconnect);
        stop();
      };
      setSession(made);
    });
    return () => {
      left = true;
      leave();
      setSession(null);
    };
  }, [tenant, name, writes, open]);
  const snapshot = useSyncExternalStore(session?.subscribe ?? never, session?.snapshot ?? nothing);
  return useMemo(() => (session && snapshot ? { ...snapshot, session } : null), [session, snapshot]);
}
