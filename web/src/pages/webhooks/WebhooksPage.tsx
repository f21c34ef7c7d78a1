import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useMemo, useState } from "react";
import { curlOf, read } from "@/api";
import { Button } from "@/components/Button";
import { CurlButton } from "@/components/Copy";
import { EmptyState, ErrorPanel } from "@/components/States";
import { Tabs } from "@/components/Tabs";
import { DataTable } from "@/components/table/DataTable";
import { ListWithPane } from "@/frame/Page";
import { PageHead } from "@/frame/PageHead";
import { useActions } from "@/frame/useActions";
import { useLive } from "@/live";
import { useOneTenant } from "@/routes";
import { useRole } from "@/session";
import { DeliveryPane } from "./DeliveryPane";
import { EndpointForm } from "./EndpointForm";
import { endpointColumns } from "./endpointColumns";
import { JobDeliveries } from "./JobDeliveries";
import type { WebhooksSearch } from "./route";
import { type NewSecret, SecretDialog } from "./SecretDialog";
import type { Webhook } from "./state";

export const webhookTopics = {
  "delivery.changed": ["/v1/webhooks", "/v1/webhooks/{id}", "/v1/webhooks/{id}/deliveries", "/v1/deliveries", "/v1/deliveries/{id}"],
};

const tabs = [
  { value: "endpoints", label: "Endpoints" },
  { value: "jobs", label: "Webhooks of jobs" },
] as const;

export function WebhooksPage() {
  const tenant = useOneTenant();
  const search = useSearch({ from: "/frame/t/$tenant/webhooks" });
  const navigate = useNavigate({ from: "/t/$tenant/webhooks" });
  const set = (change: Partial<Record<keyof WebhooksSearch, string | undefined>>) =>
    void navigate({ search: (old) => ({ ...old, ...change }) as WebhooksSearch, replace: true });
  useLive(tenant, webhookTopics);
  const mayChange = useRole(tenant, "developer");
  const [adding, setAdding] = useState(false);
  const [made, setMade] = useState<{ hook: Webhook; secret: NewSecret } | null>(null);
  useActions(
    useMemo(
      () => (mayChange ? [{ id: "add-endpoint", title: "Add an endpoint…", note: "Action", icon: Plus, run: () => setAdding(true) }] : []),
      [mayChange],
    ),
  );
  const ofJobs = search.view === "jobs";
  return (
    <div className="flex min-h-0 flex-1 flex-col max-lg:flex-none">
      <PageHead title="Webhooks" live>
        <CurlButton call={{ path: ofJobs ? "/v1/deliveries" : "/v1/webhooks" }} />
        {mayChange && (
          <Button look="accent" icon={Plus} onClick={() => setAdding(true)}>
            Add endpoint…
          </Button>
        )}
      </PageHead>
      <Tabs
        label="View"
        className="px-4 md:px-6"
        value={search.view ?? "endpoints"}
        tabs={tabs}
        onChange={(view) => set({ view: view === "endpoints" ? undefined : view, status: undefined, delivery: undefined })}
      />
      <ListWithPane
        label="Delivery"
        shows={search.delivery}
        pane={search.delivery && <DeliveryPane key={search.delivery} id={search.delivery} onClose={() => set({ delivery: undefined })} />}
      >
        {ofJobs ? <JobDeliveries search={search} onChange={set} /> : <Endpoints mayChange={mayChange} onAdd={() => setAdding(true)} />}
      </ListWithPane>
      {adding && <EndpointForm onClose={() => setAdding(false)} onMade={(hook, secret) => setMade({ hook, secret })} />}
      {made && (
        <SecretDialog
          made={made.secret}
          onClose={() => void navigate({ to: "/t/$tenant/webhooks/$webhook", params: { tenant, webhook: made.hook.id }, search: {} })}
        />
      )}
    </div>
  );
}

function Endpoints({ mayChange, onAdd }: { mayChange: boolean; onAdd: () => void }) {
  const tenant = useOneTenant();
  const navigate = useNavigate();
  const list = useQuery(read(tenant, "/v1/webhooks", { params: { query: { limit: 100 } } }));
  if (list.error && !list.data) return <ErrorPanel error={list.error} onRetry={() => void list.refetch()} />;
  const command = curlOf({
    method: "POST",
    path: "/v1/webhooks",
    body: { url: "https://app.example/hook", events: ["job.finished"] },
  });
  return (
    <DataTable
      label="Endpoints"
      columns={endpointColumns}
      rows={list.data?.data ?? []}
      idOf={(h) => h.id}
      rowHeight={48}
      loading={list.isPending}
      refetching={list.isRefetching}
      onOpen={(h) => void navigate({ to: "/t/$tenant/webhooks/$webhook", params: { tenant, webhook: h.id }, search: {} })}
      empty={
        <EmptyState
          title="No endpoints yet"
          command={command}
          action={
            mayChange && (
              <div>
                <Button icon={Plus} onClick={onAdd}>
                  Add endpoint…
                </Button>
              </div>
            )
          }
        >
          Penstock calls an endpoint when a job starts or ends and when a budget is exceeded, with a signed message that it retries for
          three days. Add the first:
        </EmptyState>
      }
    />
  );
}
