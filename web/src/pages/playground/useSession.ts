import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useEffectEvent, useRef, useState } from "react";
import { toast } from "@/components/Toast";
import { createStore, type Store } from "@/hooks/store";
import type { Run } from "./api";
import type { PlaygroundSearch } from "./route";
import { RunFollower } from "./run/follower";
import { loadDraft, saveDraft } from "./setup/draft";
import { asRun, type Editor, firstEditor, promptEditor } from "./setup/editor";
import { editorOf } from "./setup/setup";
import type { PromptRef } from "./types";

const saveMs = 300;

/** The prompt that the address asks for. */
function refIn(search: PlaygroundSearch): PromptRef | null {
  if (!search.prompt) return null;
  if (search.draft) return { name: search.prompt, draft: true };
  if (search.version) return { name: search.prompt, version: Number(search.version) };
  return { name: search.prompt, label: search.label ?? "production" };
}

/** The setup to begin with: the prompt of the address, what the person left, or the first setup. */
function begin(tenant: string, search: PlaygroundSearch): { editor: Editor; run: string | null; fresh?: boolean } {
  const ref = refIn(search);
  if (ref) return { editor: promptEditor(ref), run: null };
  const draft = loadDraft(tenant);
  if (draft && (!search.run || search.run === draft.run)) return draft;
  return { editor: firstEditor(), run: null, fresh: true };
}

/** The setup and the run of the page: the address names the run, the tab keeps the setup. */
export function useSession(tenant: string) {
  const search = useSearch({ from: "/frame/t/$tenant/playground" });
  const navigate = useNavigate({ from: "/t/$tenant/playground" });
  const [first] = useState(() => begin(tenant, search));
  const [editor] = useState<Store<Editor>>(() => createStore(first.editor));
  const [follower, setFollower] = useState<RunFollower | null>(null);
  /** The run that the setup belongs to. */
  const owner = useRef(first.run);
  const started = useRef(new Map<string, Run>());
  const run = search.run;

  const keep = useEffectEvent(() => saveDraft(tenant, { editor: editor.get(), run: owner.current }));
  const restoreFrom = (from: RunFollower, { again = false } = {}) => {
    const found = from.state.get().followed;
    if (!found || (owner.current === from.id && !again)) return;
    const before = { editor: editor.get(), run: owner.current };
    const untouched = first.fresh && before.editor === first.editor; // there is nothing to lose
    owner.current = from.id;
    editor.set(editorOf(found.run.setup));
    if (untouched) return;
    toast("Setup of the run restored", {
      undo: () => {
        owner.current = before.run;
        editor.set(before.editor);
        void navigate({ search: (old) => ({ ...old, run: before.run ?? undefined }) as PlaygroundSearch });
      },
    });
  };
  const restore = useEffectEvent((from: RunFollower) => restoreFrom(from));
  const settle = useEffectEvent(() => {
    // The prompt has become the setup; a reload must not begin with it again. A setup that was left comes back with its run.
    const wanted = search.prompt ? undefined : (search.run ?? owner.current ?? undefined);
    if (!search.prompt && wanted === search.run) return;
    const { prompt: _p, version: _v, label: _l, draft: _d, run: _r, ...rest } = search;
    void navigate({ search: (wanted ? { ...rest, run: wanted } : rest) as PlaygroundSearch, replace: true });
  });

  useEffect(() => {
    settle();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const leave = editor.subscribe(() => {
      clearTimeout(timer);
      timer = setTimeout(keep, saveMs);
    });
    window.addEventListener("pagehide", keep);
    return () => {
      leave();
      clearTimeout(timer);
      keep();
      window.removeEventListener("pagehide", keep);
    };
  }, [editor]);

  useEffect(() => {
    if (!run) {
      setFollower(null);
      return;
    }
    const opened = new RunFollower(tenant, run);
    const leave = opened.state.subscribe(() => restore(opened));
    opened.start(started.current.get(run));
    restore(opened);
    setFollower(opened);
    return () => {
      leave();
      opened.close();
    };
  }, [tenant, run]);

  return {
    search,
    editor,
    follower,
    /** Shows a run that just began; the setup is its own. */
    show: (fresh: Run) => {
      started.current.set(fresh.id, fresh);
      owner.current = fresh.id;
      editor.set(asRun);
      void navigate({ search: (old) => ({ ...old, run: fresh.id }) as PlaygroundSearch });
    },
    /** Shows a run of the history, and restores its setup. */
    open: (id: string) => {
      if (id === run && follower)
        restoreFrom(follower, { again: true }); // the setup may have been edited: it comes back as it ran
      else void navigate({ search: (old) => ({ ...old, run: id }) as PlaygroundSearch });
    },
    /** Leaves the run; the setup stays. */
    leave: () => {
      owner.current = null;
      void navigate({ search: ({ run: _, ...rest }) => rest as PlaygroundSearch });
    },
    /** Begins anew. */
    reset: () => {
      const before = editor.get();
      owner.current = null;
      editor.set(firstEditor());
      void navigate({ search: ({ run: _, ...rest }) => rest as PlaygroundSearch });
      toast("New setup", { undo: () => editor.set(before) });
    },
    set: (change: { [K in keyof PlaygroundSearch]?: PlaygroundSearch[K] | undefined }) =>
      void navigate({ search: (old) => ({ ...old, ...change }) as PlaygroundSearch, replace: true }),
  };
}

export type Session = ReturnType<typeof useSession>;
