import { Tip } from "@/components/Tooltip";
import { between, formatClock, formatDuration, formatTime } from "@/format";
import { useMinute } from "@/hooks/clock";
import { usePreferences } from "@/hooks/preferences";
import { type Batch, isOpen, waitWords } from "./batch";

const dayMs = 86_400_000;

/** When a batch will end, or how long it took; while its queue stands, why. */
export function Eta({ batch: b }: { batch: Batch }) {
  const { zone } = usePreferences();
  const now = useMinute();
  if (!isOpen(b)) return <span className="num">{formatDuration(between(b.started_at, b.finished_at))}</span>;
  const eta = b.estimated_finish_at;
  if (!eta) return <span className="truncate">{waitWords(b.waiting_on) ?? "ETA unknown"}</span>;
  const near = Date.parse(eta) - now < dayMs;
  return (
    <Tip text={`Estimated to end ${formatTime(eta, zone)}, in ${formatDuration(Math.max(0, Date.parse(eta) - now))}`}>
      <span className="num shrink-0 whitespace-nowrap">
        ETA {near ? formatClock(eta, zone).slice(0, 5) : formatTime(eta, zone).replace(/:\d\d$/, "")}
      </span>
    </Tip>
  );
}
