import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { curlOf, read, usePages } from "@/api";
import { CurlButton } from "@/components/Copy";
import { FilterBar } from "@/components/FilterBar";
import { later } from "@/components/later";
import { StateGlyph, stateWord } from "@/components/StateGlyph";
import { EmptyState, ErrorPanel, NoMatch } from "@/components/States";
import { Tabs } from "@/components/Tabs";
import { toast } from "@/components/Toast";
import { ColumnPicker } from "@/components/table/ColumnPicker";
import { DataTable } from "@/components/table/DataTable";
import { formatCount } from "@/format";
import { PageHead } from "@/frame/PageHead";
import { TimeRange } from "@/frame/TimeRange";
import { useNow } from "@/hooks/clock";
import { useLive } from "@/live";
import { useOneTenant } from "@/routes";
import { useRole } from "@/session";
import { type Job, jobColumns } from "./columns";
import { canCount, canTurn, isFiltered, jobFields, listQuery, meaningOf, sharedQuery } from "./filter";
import { JobBulk } from "./JobBulk";
import { JobHistogram } from "./JobHistogram";
import type { JobsSearch } from "./route";
import { SubmitJob } from "./SubmitJob";
import { ViewsMenu } from "./ViewsMenu";
import { statuses } from "./values";

const JobPeek = later(() => import("./JobPeek").then((m) => m.JobPeek));

const from = "/frame/t/$tenant/jobs";
const topics = { "job.*": ["/v1/jobs", "/v1/jobs/summary"] };
const minuteMs = 60_000;

/** The counts of the tabs and the bars, over all states. */
function useSummary(tenant: string, search: JobsSearch) {
  const now = Math.floor(useNow() / minuteMs) * minuteMs;
  return useQuery({
    ...read(tenant, "/v1/jobs/summary", { params: { query: { ...sharedQuery(search, now), buckets: 90 } as never } }),
    enabled: canCount(search),
    placeholderData: keepPreviousData,
  });
}

/** The list. The start of its range moves by the minute, but not under a person who has scrolled. */
function useJobs(tenant: string, search: JobsSearch) {
  const minute = Math.floor(useNow() / minuteMs) * minuteMs;
  const [anchor, setAnchor] = useState(minute);
  const query = useMemo(() => listQuery(search, anchor), [search, anchor]);
  const pages = usePages<Job>(tenant, "/v1/jobs", { query });
  const scrolled = (pages.list.data?.pages.length ?? 0) > 1;
  useEffect(() => {
    if (!scrolled) setAnchor(minute);
  }, [minute, scrolled]);
  return { ...pages, query };
}

/** The selected jobs, with their last known state: rows that left the window stay selected. */
function useSelection(rows: readonly Job[]) {
  const [jobs, setJobs] = useState<ReadonlyMap<string, Job>>(new Map());
  const ids = useMemo(() => new Set(jobs.keys()), [jobs]);
  const select = (next: ReadonlySet<string>) => {
    const known = new Map(rows.map((j) => [j.id, j]));
    setJobs((old) => new Map([...next].flatMap((id) => known.get(id) ?? old.get(id) ?? []).map((j) => [j.id, j])));
  };
  const fresh = useMemo(() => {
    const known = new Map(rows.map((j) => [j.id, j]));
    return [...jobs.values()].map((j) => known.get(j.id) ?? j);
  }, [jobs, rows]);
  return { ids, select, jobs: fresh, clear: () => setJobs(new Map()) };
}

export function JobsPage() {
  const tenant = useOneTenant();
  const search = useSearch({ from });
  const navigate = useNavigate({ from: "/t/$tenant/jobs" });
  const set = (change: Partial<Record<keyof JobsSearch, string | undefined>>) =>
    void navigate({ search: (old) => ({ ...old, ...change }) as JobsSearch, replace: true });
  const open = (job: string) => void navigate({ to: "/t/$tenant/jobs/$job", params: { tenant, job } });

  const { list, table, rows, query } = useJobs(tenant, search);
  const summary = useSummary(tenant, search);
  const models = useQuery(read(tenant, "/v1/model_definitions"));
  const selection = useSelection(rows);
  const mayStop = useRole(tenant, "developer", "operator");
  const maySubmit = useRole(tenant, "developer");
  useLive(tenant, topics);

  const counts = canCount(search) ? summary.data : undefined;
  const tabs = [
    { value: "all", label: "All", count: counts && formatCount(counts.total) },
    ...statuses.map((s) => ({
      value: s,
      label: stateWord(s),
      icon: <StateGlyph state={s} />,
      count: counts && formatCount(counts.counts[s]),
    })),
  ];
  const total = counts && (search.status ? counts.counts[search.status] : counts.total);
  const findText = (text: string) => {
    if (/^item_/.test(text)) return void navigate({ to: "/t/$tenant/items/$item", params: { tenant, item: text } });
    const meaning = meaningOf(text);
    if (meaning) set(meaning);
    else toast("This text is no filter", { description: "Write a field and a value, such as lane bulk, env:prod, or the id of a job." });
  };
  const columns = search.columns?.split(",");
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <PageHead title="Jobs" live>
        <TimeRange value={search.range ?? "all"} onChange={(range) => set({ range: range === "all" ? undefined : range })} />
        <CurlButton call={{ path: "/v1/jobs", query }} />
        {maySubmit && <SubmitJob tenant={tenant} />}
      </PageHead>
      <Tabs
        label="State"
        className="px-4 md:px-6"
        value={search.status ?? "all"}
        tabs={tabs}
        onChange={(status) => set({ status: status === "all" ? undefined : status })}
      />
      <div className="flex flex-col gap-2 px-4 pt-3 pb-2 md:px-6">
        <FilterBar
          fields={jobFields(models.data?.data.map((m) => m.name) ?? [])}
          values={search}
          onChange={(name, value) => set({ [name]: value })}
          onText={findText}
          placeholder="Add a filter: lane, model, tag, error code, key, job id…"
        >
          <ViewsMenu search={search} onOpen={(view) => void navigate({ search: view })} />
          <ColumnPicker columns={jobColumns} shown={columns} onChange={(shown) => set({ columns: shown.join(",") })} />
        </FilterBar>
        {canCount(search) && !summary.error && (
          <JobHistogram summary={summary.data} status={search.status} onRange={(range) => set({ range })} />
        )}
      </div>
      {list.error && <ErrorPanel error={list.error} onRetry={() => void list.refetch()} />}
      <div className="flex min-h-0 flex-1 max-lg:flex-col">
        <div className="flex min-h-0 min-w-0 flex-1 flex-col">
          {(!list.error || rows.length > 0) && (
            <DataTable
              label="Jobs"
              columns={jobColumns}
              idOf={(j) => j.id}
              shown={columns}
              {...table}
              total={total === undefined ? undefined : Math.max(total, table.before + rows.length)}
              sort={{ by: "created", descending: search.order !== "asc" }}
              onSort={canTurn(search) ? ({ descending }) => set({ order: descending ? undefined : "asc" }) : undefined}
              onOpen={(j) => open(j.id)}
              onPeek={(j) => set({ peek: search.peek === j.id ? undefined : j.id })}
              onMove={(j) => search.peek && set({ peek: j.id })}
              {...(mayStop
                ? {
                    selected: selection.ids,
                    onSelect: selection.select,
                    bulk: () => <JobBulk tenant={tenant} jobs={selection.jobs} onDone={selection.clear} />,
                  }
                : {})}
              empty={isFiltered(search) ? <NoMatch what="jobs" onClear={() => void navigate({ search: {} })} /> : <NoJobs />}
            />
          )}
        </div>
        {search.peek && <JobPeek tenant={tenant} id={search.peek} onClose={() => set({ peek: undefined })} />}
      </div>
    </div>
  );
}

function NoJobs() {
  const command = curlOf({ method: "POST", path: "/v1/jobs", body: { model: "fast", input: "Why is the sky blue?" } });
  return (
    <EmptyState title="No jobs yet" command={command}>
      A job is work that Penstock accepts at once, runs when there is capacity, and never loses. Submit the first one:
    </EmptyState>
  );
}
