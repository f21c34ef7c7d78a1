import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { asApiError, read, type Schemas } from "@/api";
import { Card } from "@/components/Card";
import { CurlButton } from "@/components/Copy";
import { ControlButton } from "@/components/control/ControlButton";
import { Skeleton, useSlow } from "@/components/Skeleton";
import { StateGlyph } from "@/components/StateGlyph";
import { ErrorPanel } from "@/components/States";
import { PlainTable } from "@/components/table/PlainTable";
import { formatCount, plural } from "@/format";
import { PageBody } from "@/frame/Page";
import { PageHead } from "@/frame/PageHead";
import { useLive } from "@/live";
import { live } from "@/live/store";
import { useRole } from "@/session";
import { targetHealth } from "../models/health";
import { loadColumns } from "../models/targetColumns";
import { LaneCard, LaneGrid, LaneSkeletons } from "./LaneCard";
import { activeTenants, deepestLane, type LaneQueue, pauseEffect } from "./load";
import { PausedCard } from "./PausedCard";
import { Shares } from "./Shares";
import { Workers } from "./Workers";

const topics = {
  load: ["/admin/v1/queues"],
  "target.changed": ["/admin/v1/targets"],
  "control.changed": ["/admin/v1/controls", "/admin/v1/queues", "/admin/v1/targets"],
};
const heartbeatMs = 5_000; // no event tells of heartbeats
const everyHeartbeat = { refetchInterval: () => (live.get().paused ? false : heartbeatMs) };

/** The queue and the workers over all tenants. */
export function QueuesAllPage() {
  const queues = useQuery(read(null, "/admin/v1/queues"));
  const processes = useQuery({ ...read(null, "/admin/v1/processes"), ...everyHeartbeat });
  const targets = useQuery(read(null, "/admin/v1/targets"));
  const controls = useQuery(read(null, "/admin/v1/controls"));
  useLive(null, topics);
  if (asApiError(queues.error).status === 403) return <ErrorPanel error={queues.error} />;
  return (
    <>
      <PageHead title="Queues & workers" live state={<Summary controls={controls.data?.data} targets={targets.data?.data} />}>
        <CurlButton call={{ path: "/admin/v1/queues" }} />
      </PageHead>
      <PageBody>
        <Panel of={controls} loading={null}>
          {(data) => <PausedCard controls={data.data} />}
        </Panel>
        <Panel of={queues} loading={<LaneSkeletons />}>
          {(data) => (
            <>
              {!data.current && <p className="text-amber">The figures of the queue are not read yet; they are zero until then.</p>}
              <LaneGrid>
                {data.lanes.map((lane) => (
                  <LaneCard key={lane.name} row={lane} control={lane.control} action={<LaneAction lane={lane} />} />
                ))}
              </LaneGrid>
              <LaneShares lanes={data.lanes} />
            </>
          )}
        </Panel>
        <Panel of={processes} loading={<CardSkeleton title="Workers" rows={2} />}>
          {(data) => <Workers processes={data.data} needed={queues.data} />}
        </Panel>
        <Panel of={targets} loading={<CardSkeleton title="Targets" rows={8} />}>
          {(data) => <Targets targets={data.data} />}
        </Panel>
      </PageBody>
    </>
  );
}

/** One panel with its own error, so that a failed read does not blank the page. */
function Panel<T>({ of, loading, children }: { of: UseQueryResult<T>; loading: ReactNode; children: (data: T) => ReactNode }) {
  const slow = useSlow(of.isPending);
  if (of.data !== undefined) return children(of.data);
  if (of.error) return <ErrorPanel error={of.error} onRetry={() => void of.refetch()} />;
  return slow ? loading : null;
}

function Summary({ controls, targets }: { controls: readonly unknown[] | undefined; targets: readonly Schemas["Target"][] | undefined }) {
  if (!controls || !targets) return null;
  const down = targets.filter((t) => targetHealth(t).state === "down").length;
  const words = [
    controls.length > 0 && `${formatCount(controls.length)} paused`,
    down > 0 && `${plural(down, "target")} out of order`,
  ].filter(Boolean);
  return (
    <>
      <StateGlyph state={down > 0 ? "degraded" : controls.length > 0 ? "paused" : "healthy"} />
      {words.join(", ") || "Everything runs"}
    </>
  );
}

function LaneAction({ lane }: { lane: LaneQueue }) {
  const tenants = activeTenants(lane).length;
  return (
    <ControlButton
      small
      subject={{ kind: "lane", name: lane.name }}
      control={lane.control}
      effect={() => (
        <>
          <p>{pauseEffect(lane, tenants)}</p>
          {lane.name === "realtime" && <p>Synchronous calls of all tenants get 503 until you resume.</p>}
        </>
      )}
    />
  );
}

function LaneShares({ lanes }: { lanes: readonly LaneQueue[] }) {
  const search = useSearch({ from: "/frame/all/queues" });
  const navigate = useNavigate({ from: "/all/queues" });
  return (
    <Shares
      lanes={lanes}
      lane={search.lane ?? deepestLane(lanes)}
      onLane={(lane) => void navigate({ search: (old) => ({ ...old, lane }), replace: true })}
    />
  );
}

function Targets({ targets }: { targets: readonly Schemas["Target"][] }) {
  return (
    <Card
      title="Targets"
      note="latency and failures of the last 15 minutes"
      aside={
        <Link to="/all/models" className="text-13 text-accent hover:underline">
          All targets
        </Link>
      }
    >
      <PlainTable label="Targets" columns={loadColumns(targets, useRole(null, "operator"))} rows={targets} idOf={(t) => t.name} />
    </Card>
  );
}

function CardSkeleton({ title, rows }: { title: string; rows: number }) {
  return (
    <Card title={title}>
      {Array.from({ length: rows }, (_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike.
        <div key={i} className="flex h-8 items-center gap-6 border-b border-line px-3.5 last:border-b-0">
          <Skeleton className="w-40" />
          <Skeleton className="w-24" />
          <Skeleton className="w-1/3" />
        </div>
      ))}
    </Card>
  );
}
