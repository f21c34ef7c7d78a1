import { createContext, type ReactNode, use, useSyncExternalStore } from "react";
import type { Store } from "@/hooks/store";
import type { Run } from "./api";
import type { LiveText } from "./run/apply";
import type { RunFollower, RunState } from "./run/follower";
import { noRun } from "./run/follower";
import type { Editor } from "./setup/editor";

/** The setup that a person edits and the run that the page shows. Each has a store, so that text that streams does not draw the editor again. */
export interface Playground {
  tenant: string;
  editor: Store<Editor>;
  follower: RunFollower | null;
  /** The run is shown, and nothing can be edited: a shared run. */
  readOnly: boolean;
}

const Context = createContext<Playground | null>(null);

export function PlaygroundProvider({ value, children }: { value: Playground; children: ReactNode }) {
  return <Context value={value}>{children}</Context>;
}

export function usePlayground(): Playground {
  const playground = use(Context);
  if (!playground) throw new Error("This part needs a playground around it.");
  return playground;
}

/** A part of the setup. The selector returns the same object for the same setup. */
export function useEditor<T>(select: (editor: Editor) => T): T {
  const { editor } = usePlayground();
  return useSyncExternalStore(editor.subscribe, () => select(editor.get()));
}

/** Changes the setup. */
export function useEdit(): (change: (editor: Editor) => Editor) => void {
  return usePlayground().editor.set;
}

const nothing = () => () => {};

/** A part of the run, drawn again only when that part changes. */
export function useRunState<T>(select: (state: RunState) => T): T {
  const { follower } = usePlayground();
  return useSyncExternalStore(follower?.state.subscribe ?? nothing, () => select(follower?.state.get() ?? noRun));
}

export function useRun(): Run | null {
  return useRunState((s) => s.followed?.run ?? null);
}

/** The text of a cell as far as it has arrived. */
export function useLiveText(cell: number | undefined): LiveText | undefined {
  return useRunState((s) => (cell === undefined ? undefined : s.followed?.texts.get(cell)));
}
