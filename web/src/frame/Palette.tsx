import { Dialog } from "@base-ui/react/dialog";
import { useNavigate } from "@tanstack/react-router";
import { BookOpen, Building2, Hash, LayoutGrid, Moon, Search, Sun } from "lucide-react";
import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from "react";
import { cn } from "@/components/cn";
import { setPreference } from "@/hooks/preferences";
import { useTenant } from "@/routes";
import { rolesIn, useMe } from "@/session";
import { hrefOf } from "./navigation";
import { matchOf, type PaletteEntry, pageOfId, usePageActions } from "./palette";
import { useLastTenant, useVisiblePages } from "./Sidebar";

function useEntries(typed: string): PaletteEntry[] {
  const navigate = useNavigate();
  const tenant = useTenant();
  const last = useLastTenant();
  const me = useMe();
  const pages = useVisiblePages();
  const actions = usePageActions();
  return useMemo(() => {
    const go = (to: string) => () => void navigate({ to: to as "/" });
    const id = pageOfId(typed);
    const found: PaletteEntry[] = id
      ? [{ id: "id", title: id.title, icon: Hash, run: go(`/t/${encodeURIComponent(tenant ?? last)}/${id.path}`) }]
      : [];
    const fixed: PaletteEntry[] = [
      ...actions,
      ...pages.map((p) => ({ id: `page-${p.id}`, title: p.title, note: "Page", icon: p.icon, run: go(hrefOf(p, tenant, last)) })),
      ...(rolesIn(me, null).size > 0 ? [{ id: "all", title: "All tenants", note: "Tenant", icon: LayoutGrid, run: go("/all") }] : []),
      ...me.tenants.map((t) => ({
        id: `t-${t.id}`,
        title: t.name,
        note: "Tenant",
        icon: Building2,
        run: go(`/t/${encodeURIComponent(t.id)}`),
      })),
      { id: "docs", title: "API reference", note: "Help", icon: BookOpen, run: go("/docs") },
      { id: "light", title: "Use the light theme", note: "Action", icon: Sun, run: () => setPreference("theme", "light") },
      { id: "dark", title: "Use the dark theme", note: "Action", icon: Moon, run: () => setPreference("theme", "dark") },
    ];
    const ranked = fixed
      .map((entry) => ({ entry, score: matchOf(entry.title, typed) }))
      .filter((r): r is { entry: PaletteEntry; score: number } => r.score !== null);
    ranked.sort((a, b) => a.score - b.score);
    return [...found, ...ranked.map((r) => r.entry)].slice(0, 12);
  }, [typed, navigate, tenant, last, me, pages, actions]);
}

/** ⌘K: pages, ids and actions. */
export function Palette({ open, onOpenChange }: { open: boolean; onOpenChange: (open: boolean) => void }) {
  return (
    <Dialog.Root open={open} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className="popup fixed inset-0 z-40 bg-[rgb(11_15_17/40%)]" />
        <Dialog.Popup
          aria-label="Search or jump to"
          className="popup fixed top-[12vh] left-1/2 z-50 w-[min(36rem,calc(100vw-2rem))] -translate-x-1/2 overflow-hidden rounded-dialog border border-line bg-raised shadow-float outline-none"
        >
          <PaletteBody onDone={() => onOpenChange(false)} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function PaletteBody({ onDone }: { onDone: () => void }) {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const entries = useEntries(typed);
  const listId = useId();
  const current = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the current entry changes with at.
  useEffect(() => {
    current.current?.scrollIntoView({ block: "nearest" }); // a promise in newer browsers, which is no cleanup
  }, [at]);

  const run = (entry: PaletteEntry | undefined) => {
    if (!entry) return;
    onDone();
    entry.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setAt((i) => (i + (event.key === "ArrowDown" ? 1 : -1) + entries.length) % Math.max(1, entries.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(entries[at]);
    }
  };
  return (
    <>
      <div className="flex h-12 items-center gap-2 border-b border-line px-4">
        <Search aria-hidden className="size-4 text-ink-3" strokeWidth={1.75} />
        <input
          role="combobox"
          aria-label="Search or jump to"
          aria-expanded
          aria-controls={listId}
          aria-autocomplete="list"
          aria-activedescendant={entries.length > 0 ? `${listId}-${at}` : undefined}
          value={typed}
          onChange={(e) => {
            setTyped(e.target.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
          placeholder="A page, an id, an action…"
          className="h-full flex-1 bg-transparent text-14 outline-none focus-visible:outline-none"
        />
      </div>
      <div id={listId} role="listbox" aria-label="Results" className="max-h-[50vh] overflow-y-auto p-2">
        {entries.map((entry, i) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the input keeps the focus, as a combobox does.
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys.
          <div
            key={entry.id}
            ref={i === at ? current : null}
            id={`${listId}-${i}`}
            role="option"
            aria-selected={i === at}
            onMouseMove={() => setAt(i)}
            onClick={() => run(entry)}
            className={cn("flex h-9 cursor-pointer items-center gap-2.5 rounded-control px-2", i === at && "bg-hover")}
          >
            {entry.icon && <entry.icon aria-hidden className="size-4 text-ink-3" strokeWidth={1.75} />}
            <span className="min-w-0 flex-1 truncate">{entry.title}</span>
            <span className="text-12 text-ink-3">{entry.note}</span>
          </div>
        ))}
      </div>
      {entries.length === 0 && <p className="px-4 pb-4 text-ink-3">Nothing has this name. Paste a whole id to open it.</p>}
    </>
  );
}
