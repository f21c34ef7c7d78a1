import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { curlOf, read } from "@/api";
import { KeyValue, PaneSection } from "@/components/KeyValue";
import { Skeleton } from "@/components/Skeleton";
import { EmptyState, ErrorPanel } from "@/components/States";
import { Time } from "@/components/Time";
import { plural } from "@/format";
import { ListWithPane } from "@/frame/Page";
import { PageHead } from "@/frame/PageHead";
import { useLive } from "@/live";
import { useOneTenant } from "@/routes";
import { Deliveries } from "./Deliveries";
import { DeliveryPane } from "./DeliveryPane";
import { EndpointActs } from "./EndpointActs";
import { EndpointState, Success } from "./endpointColumns";
import type { WebhooksSearch } from "./route";
import { StatusTabs } from "./StatusTabs";
import type { Webhook } from "./state";
import { Verify } from "./Verify";
import { webhookTopics } from "./WebhooksPage";

export function WebhookPage() {
  const tenant = useOneTenant();
  const { webhook: id } = useParams({ from: "/frame/t/$tenant/webhooks/$webhook" });
  const search = useSearch({ from: "/frame/t/$tenant/webhooks/$webhook" });
  const navigate = useNavigate({ from: "/t/$tenant/webhooks/$webhook" });
  const set = (change: Partial<Record<keyof WebhooksSearch, string | undefined>>) =>
    void navigate({ search: (old) => ({ ...old, ...change }) as WebhooksSearch, replace: true });
  const hook = useQuery(read(tenant, "/v1/webhooks/{id}", { params: { path: { id } } }));
  useLive(tenant, webhookTopics);
  if (hook.error && !hook.data) {
    return (
      <>
        <PageHead title="Endpoint" />
        <ErrorPanel error={hook.error} onRetry={() => void hook.refetch()} />
      </>
    );
  }
  const h = hook.data;
  return (
    <div className="flex min-h-0 flex-1 flex-col max-lg:flex-none">
      <PageHead
        title={<span className="truncate">{h ? h.description || new URL(h.url).host : "Endpoint"}</span>}
        name={h?.description || "Endpoint"}
        live
        state={h && <EndpointState hook={h} />}
        detail={h ? <span className="truncate font-mono text-12">{h.url}</span> : <Skeleton className="my-1 w-64" />}
      >
        {h && <EndpointActs hook={h} onSent={(delivery) => set({ delivery, status: undefined })} />}
      </PageHead>
      {h && <Trouble hook={h} />}
      <StatusTabs value={search.status} onChange={(status) => set({ status })} />
      <ListWithPane
        label={search.delivery ? "Delivery" : "Endpoint"}
        shows={search.delivery}
        pane={
          search.delivery ? (
            <DeliveryPane key={search.delivery} id={search.delivery} onClose={() => set({ delivery: undefined })} />
          ) : (
            h && <EndpointPane hook={h} />
          )
        }
      >
        <Deliveries
          webhook={id}
          search={search}
          onChange={set}
          empty={
            <EmptyState title="No deliveries yet" command={curlOf({ method: "POST", path: `/v1/webhooks/${id}/test` })}>
              A message is sent when an event of this endpoint happens. Send a test to see one:
            </EmptyState>
          }
        />
      </ListWithPane>
    </div>
  );
}

/** Why the endpoint gets nothing, or may soon get nothing. */
function Trouble({ hook }: { hook: Webhook }) {
  const text = !hook.enabled ? (
    <>
      Disabled since <Time iso={hook.disabled_at} />
      {hook.disabled_reason && `: ${hook.disabled_reason}`}. Events that happen now are not sent later.
    </>
  ) : hook.failures > 0 ? (
    <>
      {plural(hook.failures, "failure")} in a row since <Time iso={hook.failing_since} />.
      {hook.rest_until && (
        <>
          {" "}
          The next message is tried at <Time iso={hook.rest_until} />.
        </>
      )}{" "}
      After five days without a success the endpoint is disabled.
    </>
  ) : null;
  if (!text) return null;
  return (
    <p role="status" className="mx-4 mb-3 rounded-card border border-amber-line bg-amber-tint px-3.5 py-2 text-amber md:mx-6">
      {text}
    </p>
  );
}

function EndpointPane({ hook }: { hook: Webhook }) {
  return (
    <>
      <PaneSection title="Endpoint">
        <KeyValue
          facts={[
            { name: "Id", value: <span className="font-mono text-12">{hook.id}</span>, copy: hook.id },
            { name: "URL", value: <span className="font-mono text-12">{hook.url}</span>, copy: hook.url },
            { name: "Events", value: <span className="font-mono text-12">{hook.events.join(", ")}</span> },
            { name: "Success", value: <SuccessNote id={hook.id} /> },
            { name: "Created", value: <Time iso={hook.created_at} /> },
            { name: "Changed", value: <Time iso={hook.updated_at} /> },
            ...(hook.old_secret_until ? [{ name: "Old secret", value: <OldSecret until={hook.old_secret_until} /> }] : []),
          ]}
        />
      </PaneSection>
      <PaneSection title="Verify a message">
        <Verify />
      </PaneSection>
    </>
  );
}

function SuccessNote({ id }: { id: string }) {
  return (
    <>
      <Success id={id} /> <span className="text-12 text-ink-3">of the last 100 deliveries</span>
    </>
  );
}

function OldSecret({ until }: { until: string }) {
  return (
    <>
      signs too until <Time iso={until} />
    </>
  );
}
