import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { read } from "@/api";
import { CurlButton } from "@/components/Copy";
import { EmptyState, ErrorPanel } from "@/components/States";
import { Tabs } from "@/components/Tabs";
import { DataTable } from "@/components/table/DataTable";
import { PageHead } from "@/frame/PageHead";
import { useLive } from "@/live";
import { useOneTenant } from "@/routes";
import { useMe } from "@/session";
import { Catalogue } from "./Catalogue";
import { modelColumns } from "./modelColumns";
import type { ModelsChange, ModelsSearch } from "./route";

const topics = { load: ["/v1/model_definitions"] };

const validateHint = `models:
  fast:
    policy: ordered
    targets: [openai-mini, local-llama]`;

/** The models that a tenant may use, and the catalogue of vendors' models. */
export function ModelsPage() {
  const tenant = useOneTenant();
  const search = useSearch({ from: "/frame/t/$tenant/models" });
  const navigate = useNavigate({ from: "/t/$tenant/models" });
  const set = (change: ModelsChange) => void navigate({ search: (old) => ({ ...old, ...change }) as ModelsSearch, replace: true });
  const models = useQuery(read(tenant, "/v1/model_definitions"));
  const tab = search.tab ?? "models";
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <PageHead title="Models" live={tab === "models"}>
        <CurlButton call={{ path: tab === "models" ? "/v1/model_definitions" : "/v1/catalogue" }} />
      </PageHead>
      <Tabs
        label="Models"
        className="px-4 md:px-6"
        value={tab}
        tabs={[
          { value: "models", label: "Models", count: models.data?.data.length },
          { value: "catalogue", label: "Catalogue" },
        ]}
        onChange={(value) => void navigate({ search: value === "catalogue" ? { tab: value } : {}, replace: true })}
      />
      {tab === "catalogue" ? <Catalogue tenant={tenant} search={search} onChange={set} /> : <Models tenant={tenant} />}
    </div>
  );
}

function Models({ tenant }: { tenant: string }) {
  const models = useQuery(read(tenant, "/v1/model_definitions"));
  const operates = useMe().all_tenants_roles.length > 0;
  const controls = useQuery({ ...read(null, "/admin/v1/controls"), enabled: operates });
  useLive(tenant, topics);
  const navigate = useNavigate();
  const paused = useMemo(() => new Set(controls.data?.data.filter((c) => c.kind === "model").map((c) => c.name)), [controls.data]);
  const columns = useMemo(() => modelColumns(tenant, paused), [tenant, paused]);
  if (models.error) return <ErrorPanel error={models.error} onRetry={() => void models.refetch()} />;
  return (
    <DataTable
      label="Models"
      columns={columns}
      rows={models.data?.data ?? []}
      idOf={(m) => m.name}
      loading={models.isPending}
      refetching={models.isRefetching}
      onOpen={(m) => void navigate({ to: "/t/$tenant/models/$model", params: { tenant, model: m.name } })}
      empty={
        <EmptyState title="This tenant may use no model" command={validateHint}>
          A model is a name that callers use. It leads to one or more targets by a policy. Add one to the configuration file, then run
          penstock config reload:
        </EmptyState>
      }
    />
  );
}
