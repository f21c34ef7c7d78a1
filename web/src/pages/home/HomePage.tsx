import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { read } from "@/api";
import { CurlButton } from "@/components/Copy";
import { ErrorPanel } from "@/components/States";
import { Segments } from "@/components/Tabs";
import { PageBody } from "@/frame/Page";
import { PageHead } from "@/frame/PageHead";
import { useLive } from "@/live";
import { needTopics, useSeesAll } from "@/needs/useNeeds";
import { useTenant } from "@/routes";
import { useMe } from "@/session";
import { RunningBatches } from "./Batches";
import { FirstRun } from "./FirstRun";
import { NeedsYou } from "./NeedsYou";
import type { windows } from "./route";
import { AllSpend, TenantSpend } from "./Spend";
import { Stats, StatsSkeleton } from "./Stats";
import { HealthWords, Targets } from "./Targets";
import { Tenants } from "./Tenants";
import { Traffic } from "./Traffic";
import { useFirstRun } from "./useFirstRun";

const topics = {
  ...needTopics,
  "job.*": ["/v1/overview", "/v1/batches/progress", "/v1/jobs"],
  "request.recorded": ["/v1/overview", "/v1/requests"],
  load: ["/v1/load", "/v1/overview", "/admin/v1/load", "/admin/v1/overview"],
};

/** The state of a tenant, or of all tenants, in figures; the first steps where nothing has happened yet. */
export function HomePage() {
  const tenant = useTenant();
  const me = useMe();
  const { window } = useSearch({ strict: false }) as { window?: (typeof windows)[number] };
  const navigate = useNavigate();
  const shown = window ?? "day";
  useLive(tenant, topics);
  const guided = tenant ?? (me.tenants.length === 1 ? (me.tenants[0]?.id ?? null) : null);
  const first = useFirstRun(guided);
  const path = tenant === null ? "/admin/v1/overview" : "/v1/overview";

  return (
    <>
      <PageHead title="Home" live state={<HealthWords />}>
        {!first && (
          <>
            <Segments
              label="Window"
              value={shown}
              tabs={[
                { value: "hour", label: "Last hour" },
                { value: "day", label: "Last 24 hours" },
              ]}
              onChange={(value) => void navigate({ to: ".", search: { window: value }, replace: true })}
            />
            <CurlButton call={{ path, query: { window: shown } }} />
          </>
        )}
      </PageHead>
      <PageBody>{first && guided ? <FirstRun tenant={guided} /> : <Dashboard tenant={tenant} window={shown} />}</PageBody>
    </>
  );
}

function Dashboard({ tenant, window }: { tenant: string | null; window: (typeof windows)[number] }) {
  const all = useSeesAll();
  const init = { params: { query: { window } } };
  const one = useQuery({ ...read(tenant, "/v1/overview", init), enabled: tenant !== null });
  const every = useQuery({ ...read(null, "/admin/v1/overview", init), enabled: tenant === null });
  const overview = tenant === null ? every : one;
  if (overview.error && tenant === null && !all) return <ErrorPanel error={overview.error} />;
  return (
    <>
      {overview.error ? (
        <ErrorPanel error={overview.error} onRetry={() => void overview.refetch()} />
      ) : overview.data ? (
        <Stats tenant={tenant} overview={overview.data} />
      ) : (
        <StatsSkeleton />
      )}
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_minmax(300px,376px)]">
        <div className="flex min-w-0 flex-col gap-4">
          <Traffic overview={overview.data} />
          {tenant === null && <Tenants />}
          {all && <Targets />}
          {tenant === null ? <AllSpend /> : <TenantSpend tenant={tenant} />}
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          <NeedsYou tenant={tenant} deadLetters={overview.data?.dead_letters} />
          <RunningBatches tenant={tenant} />
        </div>
      </div>
    </>
  );
}
