import { Cost } from "@/components/Cost";
import { StateGlyph } from "@/components/StateGlyph";
import { Time } from "@/components/Time";
import { between, formatAmount, formatDuration } from "@/format";
import type { Attempt } from "./job";
import { errorWords } from "./timeline";

/** Every attempt of an item: its target, why it was chosen, how it ended, and its cost. */
export function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
  if (attempts.length === 0) return <p className="py-2 text-ink-3">No attempt has started.</p>;
  return (
    <ol className="flex flex-col">
      {attempts.map((a) => (
        <li key={a.id} className="flex gap-2.5 border-b border-line py-2.5 last:border-b-0">
          <StateGlyph alone className="mt-[3px]" state={a.error_kind ? "failed" : a.finished_at ? "succeeded" : "running"} />
          <div className="min-w-0 flex-1">
            <p className="flex flex-wrap justify-between gap-x-3">
              <span className="min-w-0 truncate font-medium">
                Attempt {a.number} <span className="font-normal text-ink-2">{a.target ?? "without a target"}</span>
              </span>
              <span className="num text-ink-2">{formatDuration(between(a.started_at, a.finished_at))}</span>
            </p>
            {a.reason && <p className="text-12 text-ink-3">{a.reason}</p>}
            {a.error_kind && (
              <p className="mt-0.5 break-words text-red">
                <span className="font-mono text-12">{errorWords(a)}</span> {a.error_message}
              </p>
            )}
            <p className="mt-0.5 flex flex-wrap gap-x-3 text-12 text-ink-3">
              <Time iso={a.started_at} />
              <span className="num">
                {formatAmount(a.usage.input_tokens)} in, {formatAmount(a.usage.output_tokens)} out
              </span>
              <Cost usd={a.usage.cost_usd} what="settled" />
              {!a.usage_known && a.finished_at && <span>usage estimated</span>}
              {a.isolated && <span>isolated</span>}
            </p>
          </div>
        </li>
      ))}
    </ol>
  );
}
