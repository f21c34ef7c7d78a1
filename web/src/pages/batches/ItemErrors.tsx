import { useQueries } from "@tanstack/react-query";
import { read } from "@/api";
import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { ErrorPanel } from "@/components/States";
import { TimeAgo } from "@/components/Time";
import { formatCount } from "@/format";
import type { Batch } from "./batch";

const query = { limit: 100 };

/** The errors of a batch's items, grouped by their fingerprint: failures with the same cause share it. */
export function ItemErrors({ tenant, batch: b, onShow }: { tenant: string; batch: Batch; onShow: () => void }) {
  const reads = useQueries({
    queries: b.jobs.map((id) => read(tenant, "/v1/dead_letters", { params: { query: { ...query, job_id: id } } })),
  });
  const failed = reads.find((r) => r.error);
  const groups = reads.flatMap((r) => r.data?.data ?? []).sort((x, y) => y.count - x.count);
  const listed = groups.reduce((sum, g) => sum + g.count, 0);
  const rest = b.counts.failed - listed;
  if (b.counts.failed === 0) return null;
  return (
    <Card
      title="Item errors"
      note={`${formatCount(b.counts.failed)} failed, grouped by cause`}
      aside={
        <Button small onClick={onShow}>
          Show failed items
        </Button>
      }
    >
      {failed ? (
        <ErrorPanel error={failed.error} onRetry={() => void failed.refetch()} />
      ) : (
        <ul>
          {groups.map((g) => (
            <li key={g.fingerprint + (g.model ?? "")} className="flex items-start gap-3 border-b border-line px-3.5 py-2 last:border-b-0">
              <span className="num min-w-8 shrink-0 font-medium text-red">
                {formatCount(g.count)}
                {g.at_least && "+"}
              </span>
              <div className="min-w-0 flex-1">
                <p className="font-mono text-12/5">{g.code}</p>
                <p className="truncate text-ink-2" title={g.sample.message}>
                  {g.sample.message}
                </p>
                <p className="truncate font-mono text-11 text-ink-3" title={g.fingerprint}>
                  {g.fingerprint}
                </p>
              </div>
              <span className="shrink-0 text-12 text-ink-3">
                last <TimeAgo iso={g.last_at} suffix=" ago" />
              </span>
            </li>
          ))}
          {rest > 0 && reads.every((r) => r.data) && (
            <li className="px-3.5 py-2 text-12 text-ink-3">{formatCount(rest)} more were retried or dismissed, or are not listed yet.</li>
          )}
        </ul>
      )}
    </Card>
  );
}
