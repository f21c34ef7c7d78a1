import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo } from "react";
import { readPages } from "@/api";
import { IdLink } from "@/components/LinkedText";
import { StateGlyph } from "@/components/StateGlyph";
import { ErrorPanel, NoMatch } from "@/components/States";
import { TimeAgo } from "@/components/Time";
import type { Column } from "@/components/table/column";
import { DataTable } from "@/components/table/DataTable";
import { formatDuration, missing } from "@/format";
import { useOneTenant } from "@/routes";
import type { WebhooksSearch } from "./route";
import { type Delivery, deliveryState, lastAnswer } from "./state";

export function DeliveryState({ status }: { status: Delivery["status"] }) {
  const { state, word } = deliveryState[status];
  return (
    <span className="inline-flex items-center gap-1.5">
      <StateGlyph state={state} />
      {word}
    </span>
  );
}

const columns: readonly Column<Delivery>[] = [
  { id: "state", header: "State", width: "88px", narrow: "lead", cell: (d) => <DeliveryState status={d.status} /> },
  {
    id: "event",
    header: "Event",
    width: "minmax(112px, 1fr)",
    narrow: "line",
    cell: (d) => <span className="font-mono text-12">{d.type}</span>,
  },
  {
    id: "job",
    header: "Job",
    width: "92px",
    narrow: "line",
    cell: (d) => (d.job_id ? <IdLink id={d.job_id} /> : missing),
  },
  { id: "attempts", header: "Tries", width: "36px", align: "right", narrow: "hide", cell: (d) => d.attempts },
  { id: "answer", header: "Answer", width: "52px", align: "right", narrow: "side", cell: (d) => <Answer delivery={d} /> },
  { id: "took", header: "Latency", width: "60px", align: "right", narrow: "hide", cell: (d) => formatDuration(lastAnswer(d)?.ms) },
  { id: "next", header: "Next try", width: "96px", align: "right", narrow: "hide", cell: (d) => <NextTry iso={d.next_at} /> },
  { id: "created", header: "Created", width: "56px", align: "right", narrow: "line", cell: (d) => <TimeAgo iso={d.created_at} /> },
];

/** The status code of the last attempt, or that there was no answer. */
export function Answer({ delivery }: { delivery: Delivery }) {
  const last = lastAnswer(delivery);
  if (!last) return missing;
  return <span className={last.ok ? "text-green" : "text-red"}>{last.code ?? "none"}</span>;
}

function NextTry({ iso }: { iso: string | null }) {
  if (!iso) return missing;
  const ms = Date.parse(iso) - Date.now();
  return ms <= 0 ? "now" : <span title={iso}>in {formatDuration(Math.round(ms / 1000) * 1000)}</span>;
}

export interface DeliveriesProps {
  /** The endpoint; absent: the webhooks of jobs. */
  webhook?: string;
  search: WebhooksSearch;
  onChange: (change: Partial<WebhooksSearch>) => void;
  empty: ReactNode;
}

/** Deliveries, newest first. The delivery of the URL is in the pane of the page. */
export function Deliveries({ webhook, search, onChange, empty }: DeliveriesProps) {
  const tenant = useOneTenant();
  const path = webhook ? "/v1/webhooks/{id}/deliveries" : "/v1/deliveries";
  const query = { limit: 100, ...(search.status ? { status: search.status } : {}) };
  const list = useInfiniteQuery({
    ...readPages(tenant, path, query, webhook ? { id: webhook } : undefined),
    placeholderData: keepPreviousData,
  });
  const rows = useMemo(() => list.data?.pages.flatMap((p) => p.data) ?? [], [list.data]);
  if (list.error && !list.data) return <ErrorPanel error={list.error} onRetry={() => void list.refetch()} />;
  const open = (d: Delivery) => onChange({ delivery: d.id });
  return (
    <DataTable
      label="Deliveries"
      columns={columns}
      rows={rows}
      idOf={(d) => d.id}
      open={search.delivery}
      loading={list.isPending || (rows.length === 0 && list.hasNextPage)}
      refetching={list.isRefetching}
      hasMore={list.hasNextPage}
      loadingMore={list.isFetchingNextPage}
      onMore={() => void list.fetchNextPage()}
      onOpen={open}
      onPeek={open}
      empty={search.status ? <NoMatch what="deliveries" onClear={() => onChange({ status: undefined as never })} /> : empty}
    />
  );
}
