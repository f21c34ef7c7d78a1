import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { read } from "@/api";
import { CurlButton } from "@/components/Copy";
import { EmptyState, ErrorPanel } from "@/components/States";
import { Tabs } from "@/components/Tabs";
import { ColumnPicker } from "@/components/table/ColumnPicker";
import { DataTable } from "@/components/table/DataTable";
import { PageHead } from "@/frame/PageHead";
import { useLastTenant } from "@/frame/Sidebar";
import { useLive } from "@/live";
import { useRole } from "@/session";
import { Catalogue } from "./Catalogue";
import type { ModelsChange, ModelsSearch } from "./route";
import { targetColumns } from "./targetColumns";

const topics = { "target.changed": ["/admin/v1/targets"], "control.changed": ["/admin/v1/targets"] };
const example = `targets:
  openai-mini:
    provider: openai
    upstream_model: gpt-4.1-mini`;

/** All targets of the configuration with their prices, and the catalogue. */
export function ModelsAllPage() {
  const search = useSearch({ from: "/frame/all/models" });
  const navigate = useNavigate({ from: "/all/models" });
  const last = useLastTenant();
  const set = (change: ModelsChange) => void navigate({ search: (old) => ({ ...old, ...change }) as ModelsSearch, replace: true });
  const tab = search.tab ?? "targets";
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <PageHead title="Models & targets" live={tab === "targets"}>
        <CurlButton call={{ path: tab === "targets" ? "/admin/v1/targets" : "/v1/catalogue" }} />
      </PageHead>
      <Tabs
        label="Models and targets"
        className="px-4 md:px-6"
        value={tab}
        tabs={[
          { value: "targets", label: "Targets" },
          { value: "catalogue", label: "Catalogue" },
        ]}
        onChange={(value) => void navigate({ search: value === "catalogue" ? { tab: value } : {}, replace: true })}
      />
      {tab === "catalogue" ? <Catalogue tenant={last} search={search} onChange={set} /> : <Targets search={search} onChange={set} />}
    </div>
  );
}

function Targets({ search, onChange }: { search: ModelsSearch; onChange: (change: ModelsChange) => void }) {
  const targets = useQuery(read(null, "/admin/v1/targets"));
  useLive(null, topics);
  const rows = targets.data?.data;
  const operates = useRole(null, "operator");
  const columns = useMemo(() => targetColumns(rows ?? [], operates), [rows, operates]);
  if (targets.error) return <ErrorPanel error={targets.error} onRetry={() => void targets.refetch()} />;
  const shown = search.columns?.split(",");
  return (
    <>
      <div className="flex items-center justify-between gap-2 px-4 py-3 md:px-6">
        <span className="text-12 text-ink-3">Prices are in dollars per million tokens.</span>
        <ColumnPicker columns={columns} shown={shown} onChange={(ids) => onChange({ columns: ids.join(",") })} />
      </div>
      <DataTable
        label="Targets"
        shown={shown}
        columns={columns}
        rows={rows ?? []}
        idOf={(t) => t.name}
        loading={targets.isPending}
        refetching={targets.isRefetching}
        empty={
          <EmptyState title="No target yet" command={example}>
            A target is a model at a provider. Add one to the configuration file, then run penstock config reload:
          </EmptyState>
        }
      />
    </>
  );
}
