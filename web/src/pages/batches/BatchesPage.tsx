import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useMemo, useState } from "react";
import { curlOf, readPages } from "@/api";
import { Button } from "@/components/Button";
import { CurlButton } from "@/components/Copy";
import { EmptyState, ErrorPanel } from "@/components/States";
import { ColumnPicker } from "@/components/table/ColumnPicker";
import { DataTable } from "@/components/table/DataTable";
import { PageHead } from "@/frame/PageHead";
import { useActions } from "@/frame/useActions";
import { useLive } from "@/live";
import { useOneTenant } from "@/routes";
import { useRole } from "@/session";
import type { Batch } from "./batch";
import { batchColumns } from "./columns";
import { NewBatch } from "./NewBatch";

const topics = { "job.*": ["/v1/batches/progress", "/v1/batches/{id}/progress"] };
const query = { limit: 50 };

/** The batches of every dialect, newest first. */
export function BatchesPage() {
  const tenant = useOneTenant();
  const search = useSearch({ from: "/frame/t/$tenant/batches" });
  const navigate = useNavigate({ from: "/t/$tenant/batches" });
  const mayWrite = useRole(tenant, "developer");
  const [making, setMaking] = useState(false);
  const list = useInfiniteQuery({ ...readPages(tenant, "/v1/batches/progress", query), placeholderData: keepPreviousData });
  const rows = useMemo(() => list.data?.pages.flatMap((p) => p.data) ?? [], [list.data]);
  useLive(tenant, topics);
  useActions(
    useMemo(() => (mayWrite ? [{ id: "new-batch", title: "New batch…", icon: Plus, run: () => setMaking(true) }] : []), [mayWrite]),
  );

  const columns = search.columns?.split(",");
  const open = (b: Batch) => void navigate({ to: "/t/$tenant/batches/$batch", params: { tenant, batch: b.batch_id } });
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <PageHead title="Batches" live>
        <ColumnPicker
          columns={batchColumns}
          shown={columns}
          onChange={(shown) => void navigate({ search: { columns: shown.join(",") }, replace: true })}
        />
        <CurlButton call={{ path: "/v1/batches/progress", query }} />
        {mayWrite && (
          <Button look="accent" icon={Plus} onClick={() => setMaking(true)}>
            New batch…
          </Button>
        )}
      </PageHead>
      {list.error ? (
        <ErrorPanel error={list.error} onRetry={() => void list.refetch()} />
      ) : (
        <DataTable
          label="Batches"
          columns={batchColumns}
          rows={rows}
          idOf={(b) => b.id}
          shown={columns}
          loading={list.isPending}
          refetching={list.isRefetching}
          hasMore={list.hasNextPage}
          loadingMore={list.isFetchingNextPage}
          onMore={() => void list.fetchNextPage()}
          onOpen={open}
          empty={<NoBatches />}
        />
      )}
      {making && (
        <NewBatch
          tenant={tenant}
          onClose={() => setMaking(false)}
          onMade={(id) => void navigate({ to: "/t/$tenant/batches/$batch", params: { tenant, batch: id } })}
        />
      )}
    </div>
  );
}

function NoBatches() {
  const command = curlOf({
    method: "POST",
    path: "/v1/batches",
    body: { input_file_id: "file_…", endpoint: "/v1/chat/completions", completion_window: "24h" },
  });
  return (
    <EmptyState title="No batches yet" command={command}>
      A batch runs every line of a file as one request, in the bulk lane, and writes the answers to a file. Upload a JSONL file with purpose
      batch, then submit it:
    </EmptyState>
  );
}
