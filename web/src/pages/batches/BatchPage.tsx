import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { RotateCcw, X } from "lucide-react";
import { useState } from "react";
import { read } from "@/api";
import { BatchBar } from "@/components/BatchBar";
import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { CurlButton } from "@/components/Copy";
import { Cost } from "@/components/Cost";
import { cn } from "@/components/cn";
import { Skeleton, useSlow } from "@/components/Skeleton";
import { StatCard, StatRow } from "@/components/StatCard";
import { asState, StateGlyph, StatePill } from "@/components/StateGlyph";
import { ErrorPanel } from "@/components/States";
import { between, formatAmount, formatCount, formatDuration, formatPercent, plural } from "@/format";
import { PageBody, WithPane } from "@/frame/Page";
import { PageHead } from "@/frame/PageHead";
import { useNow } from "@/hooks/clock";
import { useLive } from "@/live";
import { useOneTenant } from "@/routes";
import { useRole } from "@/session";
import { type Batch, batchName, batchState, isOpen, isRefused, itemRate, openItems, unsuccessful, waitWords } from "./batch";
import { CancelBatch } from "./Cancel";
import { Eta } from "./Eta";
import { Facts } from "./Facts";
import { ItemErrors } from "./ItemErrors";
import { Items } from "./Items";
import { RetryBatch } from "./Retry";
import { type BatchSearch, itemStatuses } from "./route";

const topics = {
  "job.*": ["/v1/batches/{id}/progress", "/v1/jobs/{id}/items", "/v1/batches/progress"], // the list is read again when the person returns to it
  "dead_letters.changed": ["/v1/dead_letters"],
};

/** One batch: progress, errors, items, files. */
export function BatchPage() {
  const tenant = useOneTenant();
  const { batch: id } = useParams({ from: "/frame/t/$tenant/batches/$batch" });
  const batch = useQuery(read(tenant, "/v1/batches/{id}/progress", { params: { path: { id } } }));
  useLive(tenant, topics);
  if (batch.error) {
    return (
      <>
        <PageHead title="Batch" />
        <ErrorPanel error={batch.error} onRetry={() => void batch.refetch()} />
      </>
    );
  }
  return batch.data ? <Shown tenant={tenant} batch={batch.data} /> : <Loading />;
}

function Loading() {
  const slow = useSlow(true);
  return (
    <>
      <PageHead title="Batch" live />
      <PageBody>{slow && <Skeleton className="h-24 w-full" />}</PageBody>
    </>
  );
}

function Shown({ tenant, batch: b }: { tenant: string; batch: Batch }) {
  const search = useSearch({ from: "/frame/t/$tenant/batches/$batch" });
  const navigate = useNavigate({ from: "/t/$tenant/batches/$batch" });
  const mayAct = useRole(tenant, "developer", "operator");
  const [act, setAct] = useState<"cancel" | "retry" | null>(null);
  const close = () => setAct(null);
  const onSearch = (change: Partial<Record<keyof BatchSearch, string | undefined>>) =>
    void navigate({ search: (old) => ({ ...old, ...change }) as BatchSearch, replace: true });
  const canRetry = !isOpen(b) && unsuccessful(b.counts) > 0;
  return (
    <>
      <PageHead title={<span className="truncate">{batchName(b)}</span>} name={batchName(b)} state={<StatePill {...batchState(b)} />} live>
        <CurlButton call={{ path: `/v1/batches/${b.batch_id}/progress` }} />
        {mayAct && isOpen(b) && !b.cancel_requested_at && (
          <Button look="danger" icon={X} onClick={() => setAct("cancel")}>
            Cancel batch…
          </Button>
        )}
        {mayAct && canRetry && (
          <Button icon={RotateCcw} onClick={() => setAct("retry")}>
            Retry {plural(unsuccessful(b.counts), "item")}…
          </Button>
        )}
      </PageHead>
      <WithPane pane={<Facts tenant={tenant} batch={b} />}>
        <div className="flex flex-col gap-4 p-4 md:p-6">
          {isRefused(b) ? (
            <Refused batch={b} />
          ) : (
            <>
              <Progress batch={b} shown={search.status} onStatus={(status) => onSearch({ status })} />
              <ItemErrors tenant={tenant} batch={b} onShow={() => onSearch({ status: "failed" })} />
              <Items tenant={tenant} batch={b} search={search} onSearch={onSearch} />
            </>
          )}
        </div>
      </WithPane>
      {act === "cancel" && <CancelBatch tenant={tenant} batch={b} onClose={close} />}
      {act === "retry" && (
        <RetryBatch
          tenant={tenant}
          batch={b}
          onClose={close}
          onMade={(job) => void navigate({ to: "/t/$tenant/batches/$batch", params: { tenant, batch: job }, search: {} })}
        />
      )}
    </>
  );
}

/** The bar, its counts, which filter the items, and the figures. */
function Progress({
  batch: b,
  shown,
  onStatus,
}: {
  batch: Batch;
  shown: string | undefined;
  onStatus: (status: string | undefined) => void;
}) {
  const now = useNow();
  const { counts: c } = b;
  const done = (c.total - openItems(c)) / Math.max(1, c.total);
  const took = between(b.started_at, b.finished_at ?? new Date(now).toISOString());
  const wait = isOpen(b) ? waitWords(b.waiting_on) : null;
  return (
    <>
      <StatRow label="Figures">
        <StatCard
          label={isOpen(b) ? "Done, partial" : "Done"}
          value={formatPercent(done)}
          change={{ text: `${formatCount(c.total - openItems(c))} of ${formatCount(c.total)}` }}
        />
        <StatCard
          label="Succeeded"
          value={formatPercent(c.succeeded / Math.max(1, c.total - openItems(c)))}
          change={{ text: `of ${formatCount(c.total - openItems(c))} ended` }}
        />
        <StatCard label="Rate" value={itemRate(b.items_per_second)} change={{ text: "mean since the start" }} />
        <StatCard
          label={isOpen(b) ? "Runs for" : "Took"}
          value={formatDuration(took)}
          change={isOpen(b) ? { text: "" } : undefined}
          chart={isOpen(b) ? <EtaWords batch={b} /> : undefined}
        />
        <StatCard
          label="Tokens"
          value={formatAmount(b.usage.input_tokens + b.usage.output_tokens)}
          change={{ text: `${formatAmount(b.usage.output_tokens)} of them out` }}
        />
        <StatCard
          label={isOpen(b) ? "Cost so far" : "Cost"}
          value={<Cost usd={b.usage.cost_usd} what="settled" />}
          change={{ text: "settled" }}
        />
      </StatRow>
      <Card title="Progress" note={wait ? `waits: ${wait}` : undefined}>
        <div className="flex flex-col gap-3 px-3.5 py-3">
          <BatchBar counts={c} className="h-2.5" />
          <div className="flex flex-wrap gap-x-4 gap-y-1">
            {itemStatuses.map((s) => (
              <button
                key={s}
                type="button"
                aria-pressed={shown === s}
                onClick={() => onStatus(shown === s ? undefined : s)}
                className={cn(
                  "inline-flex h-6 items-center gap-1.5 rounded-control px-1.5 hover:bg-hover",
                  shown === s && "bg-accent-tint text-accent",
                  c[s] === 0 && "text-ink-3",
                )}
              >
                <StateGlyph state={asState(s)} className="animate-none" />
                <span className="num font-medium">{formatCount(c[s])}</span> {s}
              </button>
            ))}
          </div>
        </div>
      </Card>
    </>
  );
}

function EtaWords({ batch }: { batch: Batch }) {
  return (
    <span className="min-w-0 flex-1 truncate text-12 text-ink-3">
      <Eta batch={batch} />
    </span>
  );
}

/** A batch that never ran: the invalid lines of its file. */
function Refused({ batch: b }: { batch: Batch }) {
  return (
    <Card
      title="The batch was refused"
      note="Nothing ran, and nothing was charged. Mend these lines, upload the file again, and submit it."
    >
      <ul>
        {b.errors.map((e) => (
          <li key={`${e.line} ${e.code} ${e.message}`} className="flex gap-3 border-b border-line px-3.5 py-2 last:border-b-0">
            <span className="num w-20 shrink-0 text-ink-3">Line {formatCount(e.line)}</span>
            <span className="min-w-0 flex-1">{e.message}</span>
            <span className="shrink-0 font-mono text-12 text-red">{e.code}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
