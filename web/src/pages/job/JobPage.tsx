import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { read } from "@/api";
import { BatchBar } from "@/components/BatchBar";
import { FullId } from "@/components/Id";
import { LaneBars } from "@/components/LaneBars";
import { Skeleton, useSlow } from "@/components/Skeleton";
import { jobState, StatePill } from "@/components/StateGlyph";
import { ErrorPanel } from "@/components/States";
import { Time, TimeAgo } from "@/components/Time";
import { shortId } from "@/format";
import { WithPane } from "@/frame/Page";
import { PageHead } from "@/frame/PageHead";
import { useShortcuts } from "@/hooks/shortcuts";
import { useLive } from "@/live";
import type { Delivery } from "@/pages/webhooks/state";
import { useOneTenant } from "@/routes";
import { ItemPane } from "./ItemPane";
import { JobActions } from "./JobActions";
import { JobFacts } from "./JobFacts";
import { JobPane } from "./JobPane";
import { JobTabs } from "./JobTabs";
import { JobTimeline } from "./JobTimeline";
import { hasEnded, type Job, submitter } from "./job";

const from = "/frame/t/$tenant/jobs/$job";
const running = { "job.*": ["/v1/jobs/{id}", "/v1/jobs/{id}/items", "/v1/items/{id}"], "delivery.*": ["/v1/deliveries"] };
const ended = { "delivery.*": ["/v1/deliveries"] };

const noDeliveries: readonly Delivery[] = [];

/** The item of a job with a single one. */
function useOnlyItem(tenant: string, job: Job | undefined) {
  const single = job?.counts.total === 1;
  const items = useQuery({
    ...read(tenant, "/v1/jobs/{id}/items", { params: { path: { id: job?.id ?? "" }, query: { limit: 1 } } }),
    enabled: single,
  });
  const id = items.data?.data[0]?.id;
  return useQuery({ ...read(tenant, "/v1/items/{id}", { params: { path: { id: id ?? "" } } }), enabled: single && id !== undefined }).data;
}

export function JobPage() {
  const tenant = useOneTenant();
  const { job: id } = useParams({ from });
  const job = useQuery(read(tenant, "/v1/jobs/{id}", { params: { path: { id } } }));
  const done = job.data !== undefined && hasEnded(job.data);
  useLive(tenant, done ? ended : running);
  const slow = useSlow(job.isPending);
  return (
    <>
      <PageHead
        name={shortId(id)}
        title={
          <>
            {job.data && <StatePill state={jobState(job.data)} />}
            <FullId id={id} />
          </>
        }
        detail={job.data && <Detail job={job.data} />}
        live={!done}
      >
        {job.data && <JobActions tenant={tenant} job={job.data} />}
      </PageHead>
      {job.error && <ErrorPanel error={job.error} onRetry={() => void job.refetch()} />}
      {slow && <PageSkeleton />}
      {job.data && <JobBody key={id} tenant={tenant} job={job.data} />}
    </>
  );
}

function Detail({ job }: { job: Job }) {
  const by = submitter(job);
  return (
    <>
      <span className="font-medium text-ink">{job.resolved.prompt ?? job.model}</span>
      {job.resolved.prompt && <span>· {job.model}</span>}
      <span aria-hidden>·</span>
      <LaneBars lane={job.lane} />
      {by && (
        <span>
          · {by.kind === "key" ? "key " : "by "}
          <span className="text-ink">{by.name}</span>
        </span>
      )}
      <span>
        · Submitted <Time iso={job.created_at} /> (<TimeAgo iso={job.created_at} suffix=" ago" />)
      </span>
    </>
  );
}

function JobBody({ tenant, job }: { tenant: string; job: Job }) {
  const search = useSearch({ from });
  const navigate = useNavigate({ from: "/t/$tenant/jobs/$job" });
  const item = useOnlyItem(tenant, job);
  const single = job.counts.total === 1;
  const told = useQuery(read(tenant, "/v1/deliveries", { params: { query: { job_id: job.id, limit: 20 } } }));
  const deliveries = told.data?.data ?? noDeliveries;
  const onSearch = useMemo(
    () => (change: Record<string, string | undefined>) =>
      void navigate({ search: (old) => ({ ...old, ...change }) as never, replace: true }),
    [navigate],
  );
  const open = single ? undefined : search.item;
  useShortcuts({ Escape: () => (open ? onSearch({ item: undefined }) : false) });
  return (
    <>
      <JobFacts job={job} item={item} />
      <WithPane
        pane={
          open ? (
            <ItemPane tenant={tenant} id={open} onClose={() => onSearch({ item: undefined })} />
          ) : (
            <JobPane job={job} tenant={tenant} />
          )
        }
      >
        {!single && <BatchBar counts={job.counts} className="mx-4 mt-3 md:mx-6" />}
        <JobTimeline job={job} item={single ? item : undefined} deliveries={deliveries} />
        <JobTabs tenant={tenant} job={job} item={item} deliveries={deliveries} search={search} onSearch={onSearch} />
      </WithPane>
    </>
  );
}

function PageSkeleton() {
  return (
    <div className="flex flex-col gap-4 p-6">
      <Skeleton className="h-12" />
      <Skeleton className="h-32 w-2/3" />
      <Skeleton className="h-48 w-2/3" />
    </div>
  );
}
