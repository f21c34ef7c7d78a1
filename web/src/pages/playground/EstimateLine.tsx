import { asApiError } from "@/api";
import { CopyButton } from "@/components/Copy";
import { Tip } from "@/components/Tooltip";
import { exactCost, formatCost, formatCount, plural } from "@/format";
import { cellCount } from "./setup/editor";
import { useEditor } from "./state";
import { useColumns } from "./useColumns";

/** The bound of the cost of the next run, or why it cannot run. */
export function EstimateLine({ error }: { error: unknown }) {
  const { made, estimate, estimateError } = useColumns();
  const cells = useEditor(cellCount);
  const failed = error ?? (made.problem === null ? estimateError : null);
  if (made.problem !== null) {
    return (
      <span title={made.problem} className="max-w-80 truncate text-12 text-amber">
        {made.problem}
      </span>
    );
  }
  if (failed) {
    const e = asApiError(failed);
    return (
      <span role="alert" className="flex max-w-96 min-w-0 items-center gap-1 text-12 text-red">
        <span className="truncate" title={e.message}>
          {e.message}
        </span>
        {e.requestId && <CopyButton text={e.requestId} label="Copy request id" />}
      </span>
    );
  }
  if (!estimate) return null;
  const tokens = estimate.columns.reduce((sum, c) => sum + (c.input_tokens ?? 0), 0);
  const left = estimate.remaining_today_usd;
  const short = left != null && estimate.at_most_usd != null && Number(left) < Number(estimate.at_most_usd);
  return (
    <Tip
      text={
        <span className="num flex flex-col">
          <span>{estimate.at_most_usd == null ? "No price is known" : `At most ${exactCost(estimate.at_most_usd)}`}</span>
          <span>About {formatCount(tokens)} input tokens</span>
          <span>{left == null ? "No daily budget" : `${exactCost(left)} of the daily budget left`}</span>
        </span>
      }
    >
      <span className="num text-12 whitespace-nowrap text-ink-2">
        At most <span className="font-semibold text-ink">{formatCost(estimate.at_most_usd)}</span> for {plural(cells, "call")}
        {left != null && (
          <span className={short ? "text-amber" : "hidden text-ink-3 min-[1600px]:inline"}> · {formatCost(left)} left today</span>
        )}
      </span>
    </Tip>
  );
}
