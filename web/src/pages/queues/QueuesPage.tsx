import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { curlOf, read, type Schemas } from "@/api";
import { Card } from "@/components/Card";
import { CurlButton } from "@/components/Copy";
import { ControlButton } from "@/components/control/ControlButton";
import { ControlNote } from "@/components/control/ControlNote";
import type { Control } from "@/components/control/control";
import { LaneBars } from "@/components/LaneBars";
import { useSlow } from "@/components/Skeleton";
import { EmptyState, ErrorPanel } from "@/components/States";
import type { Column } from "@/components/table/column";
import { PlainTable } from "@/components/table/PlainTable";
import { formatCount, formatDuration, formatRate, missing } from "@/format";
import { PageBody } from "@/frame/Page";
import { PageHead } from "@/frame/PageHead";
import { useLive } from "@/live";
import { useOneTenant } from "@/routes";
import { useMe } from "@/session";
import { LaneCard, LaneGrid, LaneSkeletons, loadWords } from "./LaneCard";
import { emptyIn, oldest, pauseEffect, waiting } from "./load";

type Queue = Schemas["Queue"];

const topics = { load: ["/v1/load"] };

const columns: readonly Column<Queue>[] = [
  { id: "model", header: "Model", width: "260px", narrow: "lead", cell: (q) => <span className="font-medium">{q.model}</span> },
  { id: "lane", header: "Lane", width: "100px", narrow: "side", cell: (q) => <LaneBars lane={q.lane} /> },
  { id: "waiting", header: "Waiting", width: "88px", align: "right", narrow: "line", cell: (q) => formatCount(waiting(q)) },
  { id: "running", header: "Running", width: "88px", align: "right", narrow: "line", cell: (q) => formatCount(q.running) },
  { id: "oldest", header: "Oldest", width: "88px", align: "right", narrow: "line", cell: oldest },
  { id: "arriving", header: "Arriving", width: "88px", align: "right", cell: (q) => formatRate(q.arrivals_per_second) },
  { id: "starting", header: "Starting", width: "88px", align: "right", cell: (q) => formatRate(q.items_per_second) },
  {
    id: "takes",
    header: "Item takes",
    width: "96px",
    align: "right",
    cell: (q) => (q.service_seconds === null ? missing : formatDuration(q.service_seconds * 1000)),
  },
  { id: "empty", header: "Empty in", width: "96px", align: "right", cell: emptyIn },
];

/** The queued and running work of one tenant. Workers and targets serve all tenants: they are on the page over all tenants. */
export function QueuesPage() {
  const tenant = useOneTenant();
  const load = useQuery(read(tenant, "/v1/load"));
  const operates = useMe().all_tenants_roles.length > 0;
  const controls = useQuery({ ...read(null, "/admin/v1/controls"), enabled: operates });
  useLive(tenant, topics);
  const slow = useSlow(load.isPending);
  const held = controls.data?.data ?? [];
  const own = held.find((c) => c.kind === "tenant" && c.name === tenant) ?? null;
  return (
    <>
      <PageHead title="Queues" live state={load.data && loadWords(load.data.total)} detail={own && <ControlNote control={own} />}>
        {controls.data && load.data && <TenantAction tenant={tenant} control={own} total={load.data.total} />}
        <CurlButton call={{ path: "/v1/load" }} />
      </PageHead>
      <PageBody>
        {load.error && <ErrorPanel error={load.error} onRetry={() => void load.refetch()} />}
        {slow && <LaneSkeletons />}
        {load.data && (
          <>
            <LaneGrid>
              {load.data.lanes.map((lane) => (
                <LaneCard key={lane.name} row={lane} control={held.find((c) => c.kind === "lane" && c.name === lane.name)} />
              ))}
            </LaneGrid>
            <Models queues={load.data.queues} controls={held} />
          </>
        )}
        {operates && (
          <p className="text-12 text-ink-3">
            Workers, targets and the shares of the tenants are on{" "}
            <Link to="/all/queues" className="text-accent underline">
              Queues & workers of all tenants
            </Link>
            .
          </p>
        )}
      </PageBody>
    </>
  );
}

function TenantAction({ tenant, control, total }: { tenant: string; control: Control | null; total: Schemas["Row"] }) {
  return (
    <ControlButton
      subject={{ kind: "tenant", name: tenant }}
      control={control}
      effect={() => (
        <>
          <p>{pauseEffect(total)}</p>
          <p>Synchronous calls of the tenant get 503 until you resume.</p>
        </>
      )}
    />
  );
}

function Models({ queues, controls }: { queues: readonly Queue[]; controls: readonly Control[] }) {
  if (queues.length === 0) return <NoWork />;
  return (
    <Card title="Work by model" note="deepest first">
      <PlainTable
        label="Work by model"
        columns={columns}
        rows={queues}
        idOf={(q) => `${q.lane}/${q.model}`}
        under={(q) => {
          const control = controls.find((c) => c.kind === "model" && c.name === q.model);
          return control ? <ControlNote control={control} /> : null;
        }}
      />
    </Card>
  );
}

function NoWork() {
  const command = curlOf({ method: "POST", path: "/v1/jobs", body: { model: "fast", lane: "bulk", input: "Hello" } });
  return (
    <Card>
      <EmptyState title="Nothing waits and nothing runs" command={command}>
        Jobs wait here in three lanes: realtime first, then standard, then bulk. Submit one to see it move:
      </EmptyState>
    </Card>
  );
}
