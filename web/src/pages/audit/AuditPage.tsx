import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Download } from "lucide-react";
import { useMemo, useState } from "react";
import { curlOf, readPages } from "@/api";
import { Button } from "@/components/Button";
import { CurlButton } from "@/components/Copy";
import { FilterBar, type FilterField } from "@/components/FilterBar";
import { later } from "@/components/later";
import { EmptyState, ErrorPanel, NoMatch } from "@/components/States";
import { Time } from "@/components/Time";
import { Tip } from "@/components/Tooltip";
import type { Column } from "@/components/table/column";
import { DataTable } from "@/components/table/DataTable";
import { ListWithPane } from "@/frame/Page";
import { PageHead } from "@/frame/PageHead";
import { boundsOf } from "@/frame/range";
import { TimeRange } from "@/frame/TimeRange";
import { useNow } from "@/hooks/clock";
import { useShortcuts } from "@/hooks/shortcuts";
import { useLive } from "@/live";
import { useTenant } from "@/routes";
import { useMe } from "@/session";
import { EntryPane } from "./EntryPane";
import { type AuditEntry, actorOf, changeWords, pageOfSubject, subjectWords } from "./entry";
import type { AuditQuery } from "./export";
import type { AuditSearch } from "./route";

const ExportDialog = later(() => import("./ExportDialog").then((m) => m.ExportDialog));

const topics = { "audit.appended": ["/admin/v1/audit"] };

/** The kinds of objects and the actions that the audit knows. */
const actions = [
  "tenant",
  "tenant.create",
  "tenant.change",
  "tenant.delete",
  "key",
  "key.create",
  "key.change",
  "key.rotate",
  "key.revoke",
  "member",
  "member.grant",
  "member.change",
  "member.remove",
  "session",
  "session.create",
  "session.end",
  "session.revoke",
  "payload.reveal",
  "config.reload",
  "control",
  "control.set",
  "control.lift",
  "job",
  "job.retry",
  "job.delete",
  "dead_letters",
  "dead_letters.retry",
  "dead_letters.dismiss",
  "webhook",
  "webhook.create",
  "webhook.change",
  "webhook.delete",
  "webhook.rotate",
  "webhook.disable",
  "file.delete",
  "response.delete",
  "conversation.delete",
] as const;

function useFields(tenant: string | null): readonly FilterField[] {
  const { tenants } = useMe();
  return useMemo(() => {
    const fields: FilterField[] = [
      { name: "actor", label: "Actor", example: "Ada Lovelace <ada@example.com>", word: (text) => actorOf(text).name },
      { name: "action", label: "Action", values: actions, example: "key.revoke" },
      { name: "subject", label: "Object", example: "tenant/search" },
    ];
    if (tenant !== null) return fields;
    const values = ["-", ...tenants.map((t) => t.id)];
    return [...fields, { name: "tenant", label: "Tenant", values, word: (id) => (id === "-" ? "none" : id) }];
  }, [tenant, tenants]);
}

/** The query of the API for the filters of the URL. */
function useAuditQuery(tenant: string | null, search: AuditSearch) {
  const minute = Math.floor(useNow() / 60_000);
  const { actor, action, subject, range = "all" } = search;
  const whose = tenant ?? search.tenant ?? "*";
  return useMemo(() => {
    const { from, to } = boundsOf(range, minute * 60_000);
    const query: AuditQuery = { tenant: whose };
    if (actor) query.actor = actor;
    if (action) query.action = action;
    if (subject) query.subject = subject;
    if (from) query.created_after = from;
    if (to) query.created_before = to;
    return query;
  }, [whose, actor, action, subject, range, minute]);
}

/** The audit of a tenant, or of all tenants. */
export function AuditPage() {
  const tenant = useTenant();
  const search = useSearch({ strict: false }) as AuditSearch;
  const navigate = useNavigate();
  const [exporting, setExporting] = useState(false);
  const set = (change: Partial<Record<keyof AuditSearch, string | undefined>>) =>
    void navigate({ to: ".", search: (old: Record<string, unknown>) => ({ ...old, ...change }) as never, replace: true });
  const query = useAuditQuery(tenant, search);
  const list = useInfiniteQuery({ ...readPages(tenant, "/admin/v1/audit", { ...query, limit: 100 }), placeholderData: keepPreviousData });
  const rows = useMemo(() => list.data?.pages.flatMap((p) => p.data) ?? [], [list.data]);
  useLive(tenant, topics);
  const open = rows.find((e) => e.id === search.row);
  useShortcuts({ Escape: () => (open ? set({ row: undefined }) : false) });
  const fields = useFields(tenant);
  const filtered = Boolean(search.actor || search.action || search.subject || search.tenant || search.range);
  const columns = useMemo(() => auditColumns(tenant === null && !open, !open), [tenant, open]);
  const table = (
    <DataTable
      label="Audit"
      columns={columns}
      rows={rows}
      idOf={(e) => e.id}
      loading={list.isPending}
      refetching={list.isRefetching}
      hasMore={list.hasNextPage}
      loadingMore={list.isFetchingNextPage}
      onMore={() => void list.fetchNextPage()}
      onOpen={(e) => set({ row: e.id })}
      onPeek={(e) => set({ row: e.id === search.row ? undefined : e.id })}
      empty={filtered ? <NoMatch what="entries" onClear={() => void navigate({ to: ".", search: {} as never })} /> : <NoEntries />}
    />
  );
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <PageHead title="Audit" live>
        <TimeRange value={search.range ?? "all"} onChange={(range) => set({ range: range === "all" ? undefined : range })} />
        <CurlButton call={{ path: "/admin/v1/audit", query }} />
        <Button icon={Download} disabled={rows.length === 0} onClick={() => setExporting(true)}>
          Export…
        </Button>
      </PageHead>
      <div className="px-4 pb-3 md:px-6">
        <FilterBar
          fields={fields}
          values={search as Record<string, string | undefined>}
          onChange={(name, value) => set({ [name]: value })}
          onText={(text) => set({ subject: text })}
          placeholder={`Add a filter: actor, action, object${tenant === null ? ", tenant" : ""}…`}
        />
      </div>
      {list.error ? (
        <ErrorPanel error={list.error} onRetry={() => void list.refetch()} />
      ) : (
        <ListWithPane
          label="Entry"
          shows={open?.id}
          pane={
            open && <EntryPane entry={open} onFilter={(name, value) => set({ [name]: value })} onClose={() => set({ row: undefined })} />
          }
        >
          {table}
        </ListWithPane>
      )}
      {exporting && <ExportDialog query={query} onClose={() => setExporting(false)} />}
    </div>
  );
}

function auditColumns(withTenant: boolean, roomy: boolean): readonly Column<AuditEntry>[] {
  const columns: (Column<AuditEntry> | false)[] = [
    { id: "time", header: "Time", width: "124px", narrow: "line", cell: (e) => <Time iso={e.created_at} /> },
    { id: "actor", header: "Actor", width: "minmax(120px, 1fr)", narrow: "line", cell: (e) => <ActorCell text={e.actor} /> },
    { id: "action", header: "Action", width: "144px", narrow: "lead", cell: (e) => <span className="font-medium">{e.action}</span> },
    { id: "object", header: "Object", width: "minmax(168px, 1.6fr)", narrow: "side", cell: (e) => <ObjectCell entry={e} /> },
    withTenant && {
      id: "tenant",
      header: "Tenant",
      width: "minmax(112px, 0.8fr)",
      cell: (e) => (e.tenant === "-" ? <span className="text-ink-3">–</span> : e.tenant),
    },
    roomy && {
      id: "change",
      header: "Changed",
      width: "minmax(120px, 1fr)",
      cell: (e) => <span className="text-ink-2">{changeWords(e)}</span>,
    },
  ];
  return columns.filter((c) => c !== false);
}

function ActorCell({ text }: { text: string }) {
  const actor = actorOf(text);
  return (
    <Tip text={text}>
      <span>{actor.name}</span>
    </Tip>
  );
}

function ObjectCell({ entry }: { entry: AuditEntry }) {
  const page = pageOfSubject(entry);
  const words = subjectWords(entry.subject);
  return (
    <Tip text={<span className="font-mono">{entry.subject}</span>}>
      {page ? (
        <Link to={page as "/"} className="font-mono text-12 hover:text-accent hover:underline">
          {words}
        </Link>
      ) : (
        <span className="font-mono text-12">{words}</span>
      )}
    </Tip>
  );
}

function NoEntries() {
  return (
    <EmptyState title="No entries yet" command={curlOf({ path: "/admin/v1/audit", query: { tenant: "*" } })}>
      Penstock writes each change with its actor, and the values before and after, in the same transaction as the change. Read it on the
      admin listener, too:
    </EmptyState>
  );
}
