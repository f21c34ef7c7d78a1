import { useQueryClient } from "@tanstack/react-query";
import { Pause } from "lucide-react";
import { type ReactNode, useEffect } from "react";
import { cn } from "@/components/cn";
import { StateGlyph } from "@/components/StateGlyph";
import { Tip } from "@/components/Tooltip";
import { formatClock, formatCount } from "@/format";
import { usePreferences } from "@/hooks/preferences";
import { useShortcuts } from "@/hooks/shortcuts";
import { useLiveState } from "@/live";
import { pauseLive, resumeLive } from "@/live/useLive";
import { useTenant } from "@/routes";

export interface PageHeadProps {
  title: ReactNode;
  /** The name of the page in the title of the browser; the title where that is text. */
  name?: string;
  /** The state beside the title: a pill, or words with a glyph. */
  state?: ReactNode;
  /** The second line: facts in grey. */
  detail?: ReactNode;
  /** The page follows the event stream: "As of" and the Live switch show. */
  live?: boolean;
  /** Time range, menus and buttons; at most one accent button, the last. */
  children?: ReactNode;
}

/** Title, state, As of, Live, time range, actions. */
export function PageHead({ title, name, state, detail, live, children }: PageHeadProps) {
  const said = name ?? (typeof title === "string" ? title : "Penstock");
  const tenant = useTenant();
  useEffect(() => {
    document.title = [said, ...(tenant === null ? [] : [tenant]), "Penstock"].join(" · ");
  }, [said, tenant]);
  return (
    <div className="px-4 pt-3.5 pb-2.5 md:px-6">
      <div className="flex min-h-[30px] flex-wrap items-center gap-x-3 gap-y-2">
        <h1 tabIndex={-1} className="flex min-w-0 items-center gap-2.5 text-18 font-semibold outline-none">
          {title}
        </h1>
        {state && <div className="flex items-center gap-1.5 text-13 text-ink-2">{state}</div>}
        <div className="ml-auto flex flex-wrap items-center gap-2">
          {live && <LiveSwitch />}
          {children}
        </div>
      </div>
      {detail && <div className="mt-1 flex flex-wrap items-center gap-x-2 gap-y-1 text-13 text-ink-2">{detail}</div>}
    </div>
  );
}

/** "As of", and the switch between live and paused. Key: l. */
function LiveSwitch() {
  const { paused, connection, asOf, missed } = useLiveState();
  const { zone } = usePreferences();
  const queries = useQueryClient();
  const toggle = () => (paused ? resumeLive(queries) : pauseLive());
  useShortcuts({ l: toggle });
  const waiting = connection === "reconnecting" || connection === "stale";
  const word = paused ? "Paused" : waiting ? "Reconnecting" : "Live";
  return (
    <>
      <span className="num hidden text-12 text-ink-3 md:inline">As of {formatClock(asOf, zone)}</span>
      <Tip text={paused ? "Read everything again and follow" : "Stop reading anything again"} hint="L">
        <button
          type="button"
          aria-pressed={!paused}
          onClick={toggle}
          className={cn(
            "inline-flex h-[26px] items-center gap-1.5 rounded-control px-2 text-13 font-medium hover:bg-hover",
            paused || waiting ? "text-amber" : "text-green",
          )}
        >
          {paused ? (
            <Pause aria-hidden className="size-3.5" strokeWidth={2.5} />
          ) : (
            <StateGlyph state={waiting ? "degraded" : "healthy"} className="size-3" />
          )}
          {word}
          {paused && missed > 0 && <span className="num font-normal">{formatCount(missed)} new</span>}
        </button>
      </Tip>
    </>
  );
}
