import { useQuery } from "@tanstack/react-query";
import { read } from "@/api";
import { BatchBar, Meter } from "@/components/BatchBar";
import { Button } from "@/components/Button";
import { Dialog } from "@/components/Dialog";
import { IdLink } from "@/components/LinkedText";
import { jobState, StateText } from "@/components/StateGlyph";
import { ErrorPanel } from "@/components/States";
import { formatCount, plural } from "@/format";
import { useOneTenant } from "@/routes";
import { type Progress, skippedItems } from "./replay";

const most = 8; // jobs whose state is read

export interface RetryProgressProps {
  progress: Progress;
  total: number;
  running: boolean;
  error: unknown;
  onClose: () => void;
}

/** What a retry has begun: the new jobs and their states. Closing it stops nothing that was accepted. */
export function RetryProgress({ progress, total, running, error, onClose }: RetryProgressProps) {
  const jobs = progress.jobs.flatMap((j) => (j.job_id ? [{ id: j.job_id, items: j.items }] : []));
  const missed = skippedItems(progress);
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && !running && onClose()}
      title={running ? "Submitting the retry" : `${plural(progress.items, "item")} submitted again`}
      footer={
        <Button look="accent" busy={running} onClick={onClose}>
          Close
        </Button>
      }
    >
      <div className="flex flex-col gap-3 pb-2">
        {running && (
          <div>
            <Meter
              share={progress.items / Math.max(1, total)}
              label={`${formatCount(progress.items)} of ${formatCount(total)} submitted`}
              warnAt={2}
            />
            <p className="num mt-1 text-12 text-ink-3">
              {formatCount(progress.items)} of {formatCount(total)}
            </p>
          </div>
        )}
        {error != null && <ErrorPanel error={error} />}
        <p className="text-ink-2">
          {plural(jobs.length, "new job")}. An item that fails again comes back here as a new dead letter.
          {missed > 0 && ` ${plural(missed, "item")} could not be retried.`}
        </p>
        <ul className="flex flex-col">
          {jobs.slice(0, most).map((job) => (
            <NewJob key={job.id} id={job.id} />
          ))}
        </ul>
        {jobs.length > most && <p className="text-12 text-ink-3">and {plural(jobs.length - most, "more job")}</p>}
      </div>
    </Dialog>
  );
}

function NewJob({ id }: { id: string }) {
  const tenant = useOneTenant();
  const job = useQuery(read(tenant, "/v1/jobs/{id}", { params: { path: { id } } })).data;
  return (
    <li className="flex h-8 items-center gap-3 border-b border-line last:border-b-0">
      <span className="w-24">{job ? <StateText state={jobState(job)} /> : <span className="text-ink-3">–</span>}</span>
      <IdLink id={id} />
      <span className="ml-auto flex items-center gap-2">
        {job && <BatchBar counts={job.counts} className="w-20" />}
        <span className="num w-12 text-right text-12">{formatCount(job?.counts.total)}</span>
      </span>
    </li>
  );
}
