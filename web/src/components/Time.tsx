import { formatAge, formatTime, missing } from "@/format";
import { useNow } from "@/hooks/clock";
import { usePreferences } from "@/hooks/preferences";
import { Tip } from "./Tooltip";

/** The exact value of a time: in the chosen zone, in UTC, and as the API spells it. */
function Exact({ iso }: { iso: string }) {
  const { zone } = usePreferences();
  return (
    <span className="flex flex-col num">
      <span>{formatTime(iso, zone)}</span>
      <span className="text-ink-3">{iso}</span>
    </span>
  );
}

/** `17 Nov, 14:32:07`, with the exact value on hover. */
export function Time({ iso }: { iso: string | null | undefined }) {
  const { zone } = usePreferences();
  if (!iso) return <span className="text-ink-3">{missing}</span>;
  return (
    <Tip text={<Exact iso={iso} />}>
      <time dateTime={iso} className="num whitespace-nowrap">
        {formatTime(iso, zone)}
      </time>
    </Tip>
  );
}

/** `9 s`, counting on, with the exact value on hover. */
export function TimeAgo({ iso, suffix = "" }: { iso: string | null | undefined; suffix?: string }) {
  const now = useNow();
  if (!iso) return <span className="text-ink-3">{missing}</span>;
  return (
    <Tip text={<Exact iso={iso} />}>
      <time dateTime={iso} className="num whitespace-nowrap">
        {formatAge(iso, now)}
        {suffix}
      </time>
    </Tip>
  );
}
