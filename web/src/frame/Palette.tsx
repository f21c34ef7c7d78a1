import { Dialog } from "@base-ui/react/dialog";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import {
  BookOpen,
  CircleHelp,
  Clock,
  Hash,
  Link as LinkIcon,
  LogOut,
  MessageSquareText,
  Monitor,
  Moon,
  PanelLeft,
  Pause,
  Play,
  Sun,
} from "lucide-react";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { asApiError, read } from "@/api";
import { copyText } from "@/components/Copy";
import { Picker } from "@/components/Picker";
import { setPreference, usePreferences } from "@/hooks/preferences";
import { useLiveState } from "@/live";
import { pauseLive, resumeLive } from "@/live/useLive";
import { useTenant } from "@/routes";
import { focusHeading } from "./focus";
import { hrefOf } from "./navigation";
import { idIn, matchOf, type PaletteEntry, pageOfFound, usePageActions } from "./palette";
import { useLastTenant, useVisiblePages } from "./Sidebar";
import { useTenantEntries } from "./TenantSwitcher";
import { useLeave } from "./useLeave";
import { useRail } from "./useRail";

/** The entry of the object with the typed id, or a note that no object has it. */
function useFound(typed: string): { entry?: PaletteEntry; note?: ReactNode } {
  const last = useLastTenant();
  const tenant = useTenant() ?? last;
  const navigate = useNavigate();
  const id = idIn(typed);
  const lookup = useQuery({
    ...read(tenant, "/v1/lookup/{id}", { params: { path: { id: id ?? "" } } }),
    enabled: id !== null,
    retry: false,
  });
  if (id === null) return {};
  if (lookup.isPending) return { note: "Looking for the id…" };
  if (lookup.error) {
    const error = asApiError(lookup.error);
    return { note: error.status === 404 ? `Nothing in ${tenant} has this id, or you may not read it.` : error.message };
  }
  const page = pageOfFound(lookup.data);
  if (!page) return { note: `The ${lookup.data.object} exists, and has no page of its own.` };
  const run = () => void navigate({ to: `/t/${encodeURIComponent(tenant)}/${page.path}` as "/" });
  return { entry: { id: "found", title: page.title, icon: Hash, note: tenant, run } };
}

/** Prompts whose names begin with the typed text. */
function usePrompts(typed: string): PaletteEntry[] {
  const last = useLastTenant();
  const tenant = useTenant() ?? last;
  const navigate = useNavigate();
  const served = useVisiblePages().some((p) => p.id === "prompts");
  const prefix = typed.trim();
  const found = useQuery({
    ...read(tenant, "/v1/prompts", { params: { query: { prefix, limit: 8 } } }),
    enabled: served && /^[0-9A-Za-z][\w./-]+$/.test(prefix),
    retry: false,
  });
  if (found.data === undefined) return [];
  return found.data.data.map(({ name }) => ({
    id: `prompt-${name}`,
    title: name,
    note: "Prompt",
    icon: MessageSquareText,
    run: () => void navigate({ to: "/t/$tenant/prompts/$", params: { tenant, _splat: name }, search: {} }),
  }));
}

/** What the frame itself can do. */
function useFrameActions(onHelp: () => void): PaletteEntry[] {
  const queries = useQueryClient();
  const leave = useLeave();
  const { paused } = useLiveState();
  const { zone } = usePreferences();
  const navigate = useNavigate();
  const { toggle } = useRail();
  return useMemo(
    () => [
      paused
        ? { id: "live", title: "Follow live", note: "Action", icon: Play, hint: "L", run: () => resumeLive(queries) }
        : { id: "live", title: "Pause live updates", note: "Action", icon: Pause, hint: "L", run: pauseLive },
      { id: "light", title: "Use the light theme", note: "Action", icon: Sun, run: () => setPreference("theme", "light") },
      { id: "dark", title: "Use the dark theme", note: "Action", icon: Moon, run: () => setPreference("theme", "dark") },
      { id: "system", title: "Use the theme of the system", note: "Action", icon: Monitor, run: () => setPreference("theme", "system") },
      zone === "utc"
        ? { id: "zone", title: "Show times in the local zone", note: "Action", icon: Clock, run: () => setPreference("zone", "local") }
        : { id: "zone", title: "Show times in UTC", note: "Action", icon: Clock, run: () => setPreference("zone", "utc") },
      {
        id: "rail",
        title: "Collapse or open the sidebar",
        note: "Action",
        icon: PanelLeft,
        hint: "[",
        run: toggle,
      },
      {
        id: "link",
        title: "Copy the link to this page",
        note: "Action",
        icon: LinkIcon,
        run: () => void copyText(window.location.href, "Link copied"),
      },
      { id: "docs", title: "API reference", note: "Help", icon: BookOpen, run: () => void navigate({ to: "/docs" }) },
      { id: "help", title: "Show all shortcuts", note: "Action", icon: CircleHelp, hint: "?", run: onHelp },
      { id: "sign-out", title: "Sign out", note: "Action", icon: LogOut, run: leave },
    ],
    [paused, zone, queries, leave, navigate, onHelp, toggle],
  );
}

/** Entries that fit the typed words, best first: actions of the page, pages, tenants, actions of the frame. */
function useEntries(typed: string, onHelp: () => void): PaletteEntry[] {
  const navigate = useNavigate();
  const tenant = useTenant();
  const last = useLastTenant();
  const ofPage = usePageActions();
  const ofFrame = useFrameActions(onHelp);
  const pages = useVisiblePages().map((p) => ({
    id: `page-${p.id}`,
    title: p.title,
    note: "Page",
    icon: p.icon,
    ...(p.key ? { hint: `G ${p.key.toUpperCase()}` } : {}),
    run: () => void navigate({ to: hrefOf(p, tenant, last) as "/" }),
  }));
  const tenants = useTenantEntries().filter((t) => !t.checked);
  const ranked = [...ofPage, ...pages, ...tenants, ...ofFrame].flatMap((entry) => {
    const score = matchOf(entry.title, typed);
    return score === null ? [] : [{ entry, score }];
  });
  ranked.sort((a, b) => a.score - b.score);
  return ranked.slice(0, 60).map((r) => r.entry);
}

export interface PaletteProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  onHelp: () => void;
}

/** ⌘K: pages, ids, prompts, tenants and actions. */
export function Palette({ open, onOpenChange, onHelp }: PaletteProps) {
  const ran = useRef(false);
  useEffect(() => {
    if (open) ran.current = false;
  }, [open]);
  return (
    <Dialog.Root open={open} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className="popup fixed inset-0 z-40 bg-[rgb(11_15_17/40%)]" />
        <Dialog.Popup
          aria-label="Search or jump to"
          // An entry mostly leads to another page: the focus goes to its heading, and not back.
          finalFocus={() => (ran.current ? focusHeading() : true)}
          className="popup fixed top-[12vh] left-1/2 z-50 w-[min(36rem,calc(100vw-2rem))] -translate-x-1/2 overflow-hidden rounded-dialog border border-line bg-raised shadow-float outline-none"
        >
          <PaletteBody
            onHelp={onHelp}
            onDone={() => {
              ran.current = true;
              onOpenChange(false);
            }}
          />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function PaletteBody({ onDone, onHelp }: { onDone: () => void; onHelp: () => void }) {
  const [typed, setTyped] = useState("");
  const found = useFound(typed);
  const entries = useEntries(typed, onHelp);
  const prompts = usePrompts(typed);
  const all = [...(found.entry ? [found.entry] : []), ...entries, ...prompts];
  const nothing = all.length === 0 ? "Nothing has this name. Paste a whole id to open it." : undefined;
  return (
    <Picker
      label="Search or jump to"
      placeholder="A page, an id, a prompt, a tenant, an action…"
      typed={typed}
      onType={setTyped}
      entries={all}
      onDone={onDone}
      note={found.note ?? nothing}
    />
  );
}
