import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ArrowUpRight } from "lucide-react";
import { read } from "@/api";
import { BatchBar } from "@/components/BatchBar";
import { FullId } from "@/components/Id";
import { Peek } from "@/components/Peek";
import { Skeleton, useSlow } from "@/components/Skeleton";
import { jobState, StatePill } from "@/components/StateGlyph";
import { ErrorPanel } from "@/components/States";
import { formatCount } from "@/format";
import { JobPane } from "@/pages/job/JobPane";

/** A job beside the list. Space opens and closes it; it follows the current row. */
export function JobPeek({ tenant, id, onClose }: { tenant: string; id: string; onClose: () => void }) {
  const job = useQuery(read(tenant, "/v1/jobs/{id}", { params: { path: { id } } }));
  const slow = useSlow(job.isPending);
  return (
    <Peek
      label="Peek"
      title={job.data && <StatePill state={jobState(job.data)} />}
      actions={
        <Link
          to="/t/$tenant/jobs/$job"
          params={{ tenant, job: id }}
          className="inline-flex h-[26px] items-center gap-1 rounded-control px-2 text-12 font-medium text-accent hover:bg-hover"
        >
          Open job <ArrowUpRight aria-hidden className="size-4" strokeWidth={1.75} />
        </Link>
      }
      onClose={onClose}
    >
      <div className="border-b border-line px-5 py-2">
        <FullId id={id} />
        {job.data && job.data.counts.total > 1 && (
          <div className="mt-1.5 flex items-center gap-2 pb-1">
            <BatchBar counts={job.data.counts} className="flex-1" />
            <span className="num text-12 text-ink-2">{formatCount(job.data.counts.total)} items</span>
          </div>
        )}
      </div>
      {job.error && <ErrorPanel error={job.error} onRetry={() => void job.refetch()} />}
      {slow && <Skeleton className="m-5 h-40" />}
      {job.data && <JobPane job={job.data} tenant={tenant} />}
    </Peek>
  );
}
