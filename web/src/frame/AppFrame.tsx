import { Dialog } from "@base-ui/react/dialog";
import { Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { useCallback, useEffect, useRef, useState } from "react";
import { later } from "@/components/later";
import { useNarrow } from "@/hooks/media";
import { useShortcuts } from "@/hooks/shortcuts";
import { useTenant } from "@/routes";
import { focusHeading } from "./focus";
import { Header } from "./Header";
import { LiveBadges } from "./LiveBadges";
import { hrefOf } from "./navigation";
import { Sidebar, useLastTenant, useVisiblePages } from "./Sidebar";
import { StaleBanner } from "./StaleBanner";
import { useRail } from "./useRail";

// Both are read right after the first page shows: it does not wait for them, and they are there when a person asks.
const Palette = later(() => import("./Palette").then((m) => m.Palette));
const HelpSheet = later(() => import("./HelpSheet").then((m) => m.HelpSheet));

/** Sidebar, header and the page. */
export function AppFrame() {
  const narrow = useNarrow();
  const [drawer, setDrawer] = useState(false);
  const [palette, setPalette] = useState(false);
  const [help, setHelp] = useState(false);
  const tenant = useTenant();
  const last = useLastTenant();
  const pages = useVisiblePages();
  const navigate = useNavigate();
  const path = useRouterState({ select: (s) => s.location.pathname });
  const { rail, toggle } = useRail();
  const shown = useRouterState({ select: (s) => s.resolvedLocation?.pathname ?? "" });
  const before = useRef("");

  const openHelp = useCallback(() => setHelp(true), []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the drawer closes when the page changes.
  useEffect(() => {
    setDrawer(false);
  }, [path]);
  useEffect(() => {
    const busy = document.activeElement?.closest("[role=dialog]"); // a person who is faster than the page keeps the focus
    if (before.current && shown !== before.current && !busy) focusHeading();
    before.current = shown;
  }, [shown]);
  useShortcuts({
    "mod+k": () => setPalette(true),
    "?": openHelp,
    "[": toggle,
    ...Object.fromEntries(
      pages.flatMap((p) => (p.key ? [[`g ${p.key}`, () => void navigate({ to: hrefOf(p, tenant, last) as "/" })]] : [])),
    ),
  });

  return (
    <div className="flex h-dvh overflow-hidden bg-surface">
      <a
        href="#main"
        className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:m-2 focus:rounded-control focus:bg-raised focus:px-3 focus:py-1.5"
      >
        Skip to the page
      </a>
      {narrow ? (
        <Dialog.Root open={drawer} onOpenChange={setDrawer}>
          <Dialog.Portal>
            <Dialog.Backdrop className="popup fixed inset-0 z-40 bg-[rgb(11_15_17/40%)]" />
            <Dialog.Popup
              aria-label="Pages"
              finalFocus={() => (before.current === path ? true : focusHeading())}
              className="fixed inset-y-0 left-0 z-50 outline-none"
            >
              <Sidebar rail={false} onNavigate={() => setDrawer(false)} />
            </Dialog.Popup>
          </Dialog.Portal>
        </Dialog.Root>
      ) : (
        <aside aria-label="Navigation">
          <Sidebar rail={rail} />
        </aside>
      )}
      <div className="flex min-w-0 flex-1 flex-col">
        <Header narrow={narrow} onDrawer={() => setDrawer(true)} onPalette={() => setPalette(true)} onHelp={openHelp} />
        <StaleBanner />
        <main id="main" tabIndex={-1} className="flex min-h-0 flex-1 flex-col overflow-auto outline-none">
          <Outlet />
        </main>
      </div>
      <LiveBadges />
      <Palette open={palette} onOpenChange={setPalette} onHelp={openHelp} />
      <HelpSheet open={help} onOpenChange={setHelp} />
    </div>
  );
}
