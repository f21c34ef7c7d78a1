import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Archive, CheckCircle2, RotateCw } from "lucide-react";
import { useMemo, useState } from "react";
import { readPages, type Schemas } from "@/api";
import { Button } from "@/components/Button";
import { CurlButton } from "@/components/Copy";
import { FilterBar, type FilterField } from "@/components/FilterBar";
import { later } from "@/components/later";
import { ErrorPanel, NoMatch } from "@/components/States";
import { DataTable } from "@/components/table/DataTable";
import { plural } from "@/format";
import { ListWithPane } from "@/frame/Page";
import { PageHead } from "@/frame/PageHead";
import { TimeRange } from "@/frame/TimeRange";
import { useActions } from "@/frame/useActions";
import { useNow } from "@/hooks/clock";
import { useLive } from "@/live";
import { useOneTenant } from "@/routes";
import { useRole } from "@/session";
import { groupColumns } from "./columns";
import { filterOf, type Query, queryOf } from "./filter";
import { GroupPane } from "./GroupPane";
import type { Filter } from "./replay";
import type { DeadLettersSearch } from "./route";

const DismissDialog = later(() => import("./DismissDialog").then((m) => m.DismissDialog));
const RetryDialog = later(() => import("./RetryDialog").then((m) => m.RetryDialog));

const from = "/frame/t/$tenant/dead-letters";
const groupsPath = "/v1/dead_letters";
const topics = {
  "dead_letters.changed": [groupsPath, "/v1/dead_letters/items"],
  "job.*": ["/v1/jobs/{id}"], // those of a retry in progress
};
const codes: readonly Schemas["Code"][] = [
  "upstream_error",
  "upstream_timeout",
  "upstream_rejected",
  "content_blocked",
  "context_too_long",
  "no_target_available",
  "invalid_request",
  "budget_exceeded",
  "poison",
  "internal",
];
const fields: readonly FilterField[] = [
  { name: "code", label: "Error", values: codes },
  { name: "kind", label: "Kind", example: "server_error" },
  { name: "model", label: "Model", example: "fast" },
  { name: "job", label: "Job", example: "job_…" },
];

/** An act that a person has begun: on which dead letters. */
interface Act {
  kind: "retry" | "dismiss";
  what: string;
  filters: Filter[];
}

export function DeadLettersPage() {
  const tenant = useOneTenant();
  const search = useSearch({ from });
  const navigate = useNavigate({ from: "/t/$tenant/dead-letters" });
  const set = (change: Partial<Record<keyof DeadLettersSearch, string | undefined>>) =>
    void navigate({ search: (old) => ({ ...old, ...change }) as DeadLettersSearch, replace: true });
  const minute = Math.floor(useNow() / 60_000);
  const query: Query = useMemo(() => queryOf(search, minute * 60_000), [search, minute]);
  const groups = useInfiniteQuery({ ...readPages(tenant, groupsPath, { ...query, limit: 100 }), placeholderData: keepPreviousData });
  const rows = useMemo(() => groups.data?.pages.flatMap((p) => p.data) ?? [], [groups.data]);
  useLive(tenant, topics);

  const mayAct = useRole(tenant, "developer", "operator");
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [act, setAct] = useState<Act | null>(null);
  const ofGroups = (prints: Iterable<string>) => [...prints].map((fingerprint) => ({ ...query, fingerprint }));
  const begin = (kind: Act["kind"], what: string, filters: Filter[]) => setAct({ kind, what, filters });
  const all = () => [filterOf(query)];
  const filtered = Object.keys(query).length > 0;
  const allWords = filtered ? "all that match the filters" : "all dead letters";
  const some = rows.length > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the actions read the filters when they run.
  const actions = useMemo(
    () =>
      mayAct && some
        ? [
            { id: "retry-all", title: `Retry ${allWords}…`, note: "Action", icon: RotateCw, run: () => begin("retry", allWords, all()) },
            {
              id: "dismiss-all",
              title: `Dismiss ${allWords}…`,
              note: "Action",
              icon: Archive,
              run: () => begin("dismiss", allWords, all()),
            },
          ]
        : [],
    [mayAct, some, allWords, query],
  );
  useActions(actions);

  const current = rows.find((g) => g.fingerprint === search.group) ?? rows[0];
  const loading = groups.isPending || (rows.length === 0 && groups.hasNextPage);
  return (
    <div className="flex min-h-0 flex-1 flex-col max-lg:flex-none">
      <PageHead title="Dead letters" live state={some && <Total rows={rows} more={groups.hasNextPage} />}>
        <TimeRange value={search.range ?? "all"} onChange={(range) => set({ range: range === "all" ? undefined : range })} />
        <CurlButton call={{ path: groupsPath, query: query as Record<string, string> }} />
        {mayAct && some && (
          <>
            <Button onClick={() => begin("dismiss", allWords, all())}>Dismiss all…</Button>
            <Button look="accent" icon={RotateCw} onClick={() => begin("retry", allWords, all())}>
              Retry all…
            </Button>
          </>
        )}
      </PageHead>
      <div className="px-4 pb-3 md:px-6">
        <FilterBar
          fields={fields}
          values={search}
          onChange={(name, value) => set({ [name]: value, group: undefined, item: undefined })}
          onText={(text) => set(text.startsWith("job_") ? { job: text } : { model: text })}
          placeholder="Add a filter: error, kind, model, job…"
        />
      </div>
      {groups.error && !groups.data ? (
        <ErrorPanel error={groups.error} onRetry={() => void groups.refetch()} />
      ) : (
        <ListWithPane
          label="Group"
          shows={search.group}
          pane={
            current && (
              <GroupPane
                key={current.fingerprint}
                group={current}
                query={query}
                item={search.item}
                onItem={(item) => set({ group: current.fingerprint, item })}
                mayAct={mayAct}
                onAct={begin}
              />
            )
          }
        >
          <DataTable
            label="Groups of dead letters"
            columns={groupColumns}
            rows={rows}
            idOf={(g) => g.fingerprint}
            rowHeight={48}
            loading={loading}
            refetching={groups.isRefetching}
            hasMore={groups.hasNextPage}
            loadingMore={groups.isFetchingNextPage}
            onMore={() => void groups.fetchNextPage()}
            onOpen={(g) => set({ group: g.fingerprint, item: undefined })}
            onPeek={(g) => set({ group: g.fingerprint, item: undefined })}
            open={current?.fingerprint}
            {...(mayAct ? { selected, onSelect: setSelected } : {})}
            bulk={(chosen) => (
              <>
                <Button look="ghost" icon={RotateCw} onClick={() => begin("retry", plural(chosen.size, "group"), ofGroups(chosen))}>
                  Retry…
                </Button>
                <Button look="ghost" icon={Archive} onClick={() => begin("dismiss", plural(chosen.size, "group"), ofGroups(chosen))}>
                  Dismiss…
                </Button>
              </>
            )}
            empty={filtered ? <NoMatch what="dead letters" onClear={() => void navigate({ search: {} })} /> : <AllGood />}
          />
        </ListWithPane>
      )}
      {act?.kind === "retry" && (
        <RetryDialog what={act.what} filters={act.filters} onClose={() => setAct(null)} onDone={() => setSelected(new Set())} />
      )}
      {act?.kind === "dismiss" && (
        <DismissDialog what={act.what} filters={act.filters} onClose={() => setAct(null)} onDone={() => setSelected(new Set())} />
      )}
    </div>
  );
}

function Total({ rows, more }: { rows: readonly { count: number; at_least: boolean }[]; more: boolean }) {
  const items = rows.reduce((sum, g) => sum + g.count, 0);
  const over = more || rows.some((g) => g.at_least);
  return (
    <span className="num">
      {over && "over "}
      {plural(items, "item")} in {plural(rows.length, "group")}
    </span>
  );
}

function AllGood() {
  return (
    <div className="flex flex-col items-center gap-2 px-4 py-16 text-center">
      <CheckCircle2 aria-hidden className="size-6 text-green" strokeWidth={1.5} />
      <h2 className="text-16 font-semibold">No dead letters. Good.</h2>
      <p className="max-w-md text-14 text-ink-2">
        An item that fails for good stands here, in one group with all that failed for the same reason, until a person retries or dismisses
        it.
      </p>
    </div>
  );
}
