import { Code2, FilePlus2, History, Share2 } from "lucide-react";
import type { PaletteEntry } from "@/frame/palette";
import type { Shown } from "./Dialogs";
import type { Session } from "./useSession";

/** The actions of the page in the palette. */
export function paletteEntries(session: Session, open: (dialog: Shown) => void, hasRun: boolean): PaletteEntry[] {
  const entries: PaletteEntry[] = [
    { id: "new", title: "New playground setup", note: "Action", icon: FilePlus2, run: session.reset },
    { id: "history", title: "Show playground history", note: "Action", icon: History, run: () => session.set({ pane: "history" }) },
    { id: "code", title: "Export column A as code", note: "Action", icon: Code2, run: () => open({ kind: "code", column: 0 }) },
  ];
  return hasRun
    ? [...entries, { id: "share", title: "Share this run", note: "Action", icon: Share2, run: () => open({ kind: "share" }) }]
    : entries;
}
