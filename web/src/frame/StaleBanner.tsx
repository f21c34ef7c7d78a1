import { RefreshCw, WifiOff } from "lucide-react";
import { Button } from "@/components/Button";
import { formatClock } from "@/format";
import { usePreferences } from "@/hooks/preferences";
import { useLiveState } from "@/live";
import { connectNow } from "@/live/connection";

/** Says that the page may be old: the event stream has been gone for 10 s. */
export function StaleBanner() {
  const { connection, asOf } = useLiveState();
  const { zone } = usePreferences();
  if (connection !== "stale") return null;
  return (
    <div role="status" className="flex items-center gap-2 border-b border-amber-line bg-amber-tint px-4 py-1.5 text-13 text-amber md:px-6">
      <WifiOff aria-hidden className="size-4 shrink-0" strokeWidth={1.75} />
      <span className="min-w-0 flex-1">
        The server does not answer. This page shows the state of {formatClock(asOf, zone)} and connects again by itself.
      </span>
      <Button small icon={RefreshCw} onClick={connectNow}>
        Connect now
      </Button>
    </div>
  );
}
