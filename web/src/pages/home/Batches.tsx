import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Fragment } from "react";
import { read } from "@/api";
import { BatchBar } from "@/components/BatchBar";
import { Card } from "@/components/Card";
import { ErrorPanel } from "@/components/States";
import { plural } from "@/format";
import { live } from "@/live";
import { type Batch, batchName, isOpen, shareWords } from "@/pages/batches/batch";
import { Eta } from "@/pages/batches/Eta";
import { CardLink } from "./parts";
import { useFirstTenants } from "./Tenants";

const shownAtMost = 6;
const newest = { params: { query: { limit: 100 } } };

/** The batches that run now, of a tenant or of all tenants, the newest first. */
export function RunningBatches({ tenant }: { tenant: string | null }) {
  const first = useFirstTenants();
  const tenants = tenant === null ? first : [tenant];
  const reads = useQueries({
    queries: tenants.map((t) => ({
      ...read(t, "/v1/batches/progress", newest),
      refetchInterval: () => (tenant === null && !live.get().paused ? 15_000 : false),
    })),
  });
  const failed = reads.find((r) => r.error);
  const open = reads.flatMap((r, i) => (r.data?.data ?? []).filter(isOpen).map((batch) => ({ batch, tenant: tenants[i] ?? "" })));
  open.sort((a, b) => b.batch.created_at.localeCompare(a.batch.created_at));
  const loading = reads.some((r) => r.isPending);
  return (
    <Card title="Batches running" aside={<CardLink page="batches">All batches</CardLink>}>
      {failed && open.length === 0 ? (
        <ErrorPanel error={failed.error} onRetry={() => void failed.refetch()} />
      ) : open.length === 0 ? (
        <p className="px-3.5 py-4 text-ink-2">{loading ? " " : "No batch runs now."}</p>
      ) : (
        <ul>
          {open.slice(0, shownAtMost).map((o) => (
            <Running key={o.batch.batch_id} {...o} named={tenant === null} />
          ))}
          {open.length > shownAtMost && <li className="px-3.5 py-2 text-12 text-ink-3">and {open.length - shownAtMost} more</li>}
        </ul>
      )}
    </Card>
  );
}

function Running({ batch: b, tenant, named }: { batch: Batch; tenant: string; named: boolean }) {
  return (
    <li className="flex flex-col gap-1 border-b border-line px-3.5 py-2.5 last:border-b-0">
      <div className="flex items-baseline justify-between gap-3">
        <Link
          to="/t/$tenant/batches/$batch"
          params={{ tenant, batch: b.batch_id }}
          className="truncate font-medium hover:text-accent hover:underline"
        >
          {batchName(b)}
        </Link>
        <span className="num shrink-0 text-12 text-ink-3">{plural(b.counts.total, "item")}</span>
      </div>
      <BatchBar counts={b.counts} />
      <div className="flex items-baseline justify-between gap-3 text-12 text-ink-3">
        <span className="truncate">
          {shareWords(b.counts).map((w, i) => (
            <Fragment key={w.text}>
              {i > 0 && " · "}
              <span className={w.bad ? "text-red" : ""}>{w.text}</span>
            </Fragment>
          ))}
          {named && ` · ${tenant}`}
        </span>
        <Eta batch={b} />
      </div>
    </li>
  );
}
