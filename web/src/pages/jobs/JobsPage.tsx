import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { curlOf, readPages } from "@/api";
import { CurlButton } from "@/components/Copy";
import { FilterBar, type FilterField } from "@/components/FilterBar";
import { StateGlyph, stateWord } from "@/components/StateGlyph";
import { EmptyState, ErrorPanel, NoMatch } from "@/components/States";
import { Tabs } from "@/components/Tabs";
import { ColumnPicker } from "@/components/table/ColumnPicker";
import { DataTable } from "@/components/table/DataTable";
import { PageHead } from "@/frame/PageHead";
import { boundsOf } from "@/frame/range";
import { TimeRange } from "@/frame/TimeRange";
import { useNow } from "@/hooks/clock";
import { useLive } from "@/live";
import { useOneTenant } from "@/routes";
import { jobColumns } from "./columns";
import { type JobsSearch, lanes, statuses } from "./route";

const from = "/frame/t/$tenant/jobs";
const topics = { "job.*": ["/v1/jobs"] };
const fields: readonly FilterField[] = [
  { name: "lane", label: "Lane", values: lanes },
  { name: "model", label: "Model", example: "fast" },
  { name: "tag", label: "Tag", example: "env:prod" },
];
const tabs = [
  { value: "all", label: "All" },
  ...statuses.map((s) => ({ value: s, label: stateWord(s), icon: <StateGlyph state={s} /> })),
] as const;

/** The query of the API for the filters of the URL. The start of a range moves by the minute. */
function useListQuery(search: JobsSearch) {
  const minute = Math.floor(useNow() / 60_000);
  return useMemo(() => {
    const { from: after, to: before } = boundsOf(search.range ?? "all", minute * 60_000);
    const query: Record<string, string | number> = { limit: 100 };
    for (const name of ["status", "lane", "model", "tag"] as const) if (search[name]) query[name] = search[name];
    if (after) query.created_after = after;
    if (before) query.created_before = before;
    return query;
  }, [search, minute]);
}

export function JobsPage() {
  const tenant = useOneTenant();
  const search = useSearch({ from });
  const navigate = useNavigate({ from: "/t/$tenant/jobs" });
  const set = (change: Partial<Record<keyof JobsSearch, string | undefined>>) =>
    void navigate({ search: (old) => ({ ...old, ...change }) as JobsSearch, replace: true });

  const query = useListQuery(search);
  const jobs = useInfiniteQuery({ ...readPages(tenant, "/v1/jobs", query), placeholderData: keepPreviousData });
  const rows = useMemo(() => jobs.data?.pages.flatMap((p) => p.data) ?? [], [jobs.data]);
  useLive(tenant, topics);

  const columns = search.columns?.split(",");
  const filtered = Boolean(search.status || search.lane || search.model || search.tag || search.range);
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <PageHead title="Jobs" live>
        <TimeRange value={search.range ?? "all"} onChange={(range) => set({ range: range === "all" ? undefined : range })} />
        <CurlButton call={{ path: "/v1/jobs", query: query as Record<string, string> }} />
      </PageHead>
      <Tabs
        label="State"
        className="px-4 md:px-6"
        value={search.status ?? "all"}
        tabs={tabs}
        onChange={(status) => set({ status: status === "all" ? undefined : status })}
      />
      <div className="px-4 py-3 md:px-6">
        <FilterBar
          fields={fields}
          values={search}
          onChange={(name, value) => set({ [name]: value })}
          placeholder="Add a filter: lane, model, tag…"
        >
          <ColumnPicker columns={jobColumns} shown={columns} onChange={(shown) => set({ columns: shown.join(",") })} />
        </FilterBar>
      </div>
      {jobs.error ? (
        <ErrorPanel error={jobs.error} onRetry={() => void jobs.refetch()} />
      ) : (
        <DataTable
          label="Jobs"
          columns={jobColumns}
          rows={rows}
          idOf={(j) => j.id}
          shown={columns}
          loading={jobs.isPending}
          refetching={jobs.isRefetching}
          hasMore={jobs.hasNextPage}
          loadingMore={jobs.isFetchingNextPage}
          onMore={() => void jobs.fetchNextPage()}
          empty={filtered ? <NoMatch what="jobs" onClear={() => void navigate({ search: {} })} /> : <NoJobs />}
        />
      )}
    </div>
  );
}

function NoJobs() {
  const command = curlOf({
    method: "POST",
    path: "/v1/jobs",
    body: { model: "fast", input: [{ body: { messages: [{ role: "user", content: "Hello" }] } }] },
  });
  return (
    <EmptyState title="No jobs yet" command={command}>
      A job is work that Penstock accepts at once, runs when there is capacity, and never loses. Submit the first one:
    </EmptyState>
  );
}
