import type { ReactNode } from "react";
import { Cost } from "@/components/Cost";
import { formatCount, formatDuration, missing, threeFigures } from "@/format";
import type { Cell } from "../api";

/** First token, speed, tokens, cost. */
export function Metrics({ cell }: { cell: Cell | undefined }) {
  const m = cell?.metrics;
  const known = m != null && cell?.state !== "queued";
  // A cost of zero while the answer is written only means that it is not known yet.
  const priced = known && (cell?.state !== "running" || Number(m.cost_usd) > 0);
  const speed = m?.tokens_per_second;
  return (
    <div className="border-t border-line px-3 py-2">
      <dl className="flex max-w-2xl justify-between gap-x-3">
        <Fact name="First token" value={known ? formatDuration(m.first_token_ms) : missing} />
        <Fact name="Tokens/s" value={known && speed != null ? threeFigures(speed) : missing} />
        <Fact
          name="Tokens"
          value={
            known && (m.input_tokens > 0 || m.output_tokens > 0)
              ? `${formatCount(m.input_tokens)} / ${formatCount(m.output_tokens)}`
              : missing
          }
        />
        <Fact name="Cost" value={priced ? <Cost usd={m.cost_usd} what="settled" /> : missing} />
      </dl>
    </div>
  );
}

function Fact({ name, value }: { name: string; value: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-11 whitespace-nowrap text-ink-3">{name}</dt>
      <dd className="num text-12/5 font-medium whitespace-nowrap">{value}</dd>
    </div>
  );
}
