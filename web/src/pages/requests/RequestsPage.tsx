import { useNavigate, useSearch } from "@tanstack/react-router";
import { curlOf, serverURL } from "@/api";
import { CurlButton } from "@/components/Copy";
import { FilterBar } from "@/components/FilterBar";
import { EmptyState, ErrorPanel, NoMatch } from "@/components/States";
import { ColumnPicker } from "@/components/table/ColumnPicker";
import { DataTable } from "@/components/table/DataTable";
import { useLiveList } from "@/components/table/useLiveList";
import { PageHead } from "@/frame/PageHead";
import { TimeRange } from "@/frame/TimeRange";
import { useLive } from "@/live";
import { useOneTenant } from "@/routes";
import { type RequestRow, requestColumns } from "./columns";
import { isFiltered, useFields, useListQuery } from "./filters";
import { RequestPeek } from "./RequestPeek";
import type { RequestsSearch } from "./route";

const topics = { "request.recorded": ["/v1/requests"], reset: ["/v1/requests"] };

export function RequestsPage() {
  const tenant = useOneTenant();
  const search = useSearch({ from: "/frame/t/$tenant/requests" });
  const navigate = useNavigate({ from: "/t/$tenant/requests" });
  const set = (change: Partial<Record<keyof RequestsSearch, string | undefined>>) =>
    void navigate({ search: (old) => ({ ...old, ...change }) as RequestsSearch, replace: true });

  const query = useListQuery(search);
  const { list, rows, onTop, fresh } = useLiveList<RequestRow>(tenant, "/v1/requests", query);
  const fields = useFields(tenant, rows);
  useLive(tenant, topics);

  const columns = search.columns?.split(",");
  const open = (id: string) => void navigate({ to: "/t/$tenant/requests/$id", params: { tenant, id } });
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <PageHead title="Requests" live>
        <TimeRange value={search.range ?? "all"} onChange={(range) => set({ range: range === "all" ? undefined : range })} />
        <CurlButton call={{ path: "/v1/requests", query }} />
      </PageHead>
      <div className="px-4 pb-3 md:px-6">
        <FilterBar
          fields={fields}
          values={search}
          onChange={(name, value) => set({ [name]: value })}
          onText={(text) => (text.startsWith("req_") ? open(text) : undefined)}
          placeholder="Add a filter: model, target, key, status, tag, subject, cost…"
        >
          <ColumnPicker columns={requestColumns} shown={columns} onChange={(shown) => set({ columns: shown.join(",") })} />
        </FilterBar>
      </div>
      {list.error ? (
        <ErrorPanel error={list.error} onRetry={() => void list.refetch()} />
      ) : (
        <div className="flex min-h-0 flex-1">
          <div className="flex min-h-0 min-w-0 flex-1 flex-col">
            <DataTable
              label="Requests"
              columns={requestColumns}
              rows={rows}
              idOf={(r) => r.id}
              shown={columns}
              loading={list.isPending}
              refetching={list.isRefetching && !list.isFetchingNextPage}
              hasMore={list.hasNextPage}
              loadingMore={list.isFetchingNextPage}
              onMore={() => void list.fetchNextPage()}
              onOpen={(r) => open(r.id)}
              onPeek={(r) => set({ row: search.row === r.id ? undefined : r.id })}
              onMove={(r) => search.row && set({ row: r.id })}
              open={search.row}
              onTop={onTop}
              fresh={fresh}
              empty={isFiltered(search) ? <NoMatch what="requests" onClear={() => void navigate({ search: {} })} /> : <NoRequests />}
            />
          </div>
          {search.row && <RequestPeek id={search.row} onClose={() => set({ row: undefined })} />}
        </div>
      )}
    </div>
  );
}

function NoRequests() {
  const call = curlOf({
    method: "POST",
    path: "/v1/chat/completions",
    body: { model: "fast", messages: [{ role: "user", content: "Hello" }] },
  });
  const sdk = `# The SDKs of OpenAI and Anthropic work as they are:\nexport OPENAI_BASE_URL=${serverURL()}/v1 OPENAI_API_KEY=$PENSTOCK_KEY\n\n`;
  return (
    <EmptyState title="No requests yet" command={sdk + call}>
      A request is a synchronous call: Penstock chooses a target, falls back to another one on errors, and answers at once. Every call is
      listed here within a second of its end, with its attempts, tokens and cost. Bodies are not stored. Make the first call:
    </EmptyState>
  );
}
