import { api, dataOf } from "@/api";
import { ConfirmDialog, typedCount } from "@/components/ConfirmDialog";
import { toast } from "@/components/Toast";
import { plural, splitId } from "@/format";
import { hasEnded, unfinished } from "./job";
import { type JobDialogProps, pathOf, sum, useJobAct } from "./jobActs";

export function CancelDialog(props: JobDialogProps) {
  const jobs = props.jobs.filter((j) => !hasEnded(j));
  const ended = props.jobs.length - jobs.length;
  const items = sum(jobs, unfinished);
  const cancel = useJobAct(
    props,
    (job) => dataOf(api(props.tenant).POST("/v1/jobs/{id}/cancel", { params: { path: { id: job.id } } })),
    (answers) => toast(answers.length === 1 ? "The job is being cancelled" : `${plural(answers.length, "job")} are being cancelled`),
  );
  return (
    <ConfirmDialog
      {...props}
      title={jobs.length === 1 ? "Cancel the job?" : `Cancel ${plural(jobs.length, "job")}?`}
      action={jobs.length === 1 ? "Cancel job" : "Cancel jobs"}
      danger
      effect={
        <>
          {plural(items, "item")} of {plural(jobs.length, "job")} will not run or will be stopped:{" "}
          {plural(
            sum(jobs, (j) => j.counts.queued),
            "queued",
            "queued",
          )}
          ,{" "}
          {plural(
            sum(jobs, (j) => j.counts.running),
            "running",
            "running",
          )}
          . Items that have ended keep their results.
          {ended > 0 && <> {plural(ended, "selected job")} ended before and stay as they are.</>}
        </>
      }
      undo="This cannot be undone. Cancelled items can be retried in a new job. Calls that run may still be billed by the provider."
      typed={typedCount(items)}
      waiting={jobs.length === 0}
      busy={cancel.isPending}
      error={cancel.error}
      onConfirm={() => cancel.mutate(jobs)}
      call={{ method: "POST", path: pathOf(jobs, "cancel") }}
    />
  );
}

/** Deletes one job that has ended. */
export function DeleteDialog(props: JobDialogProps) {
  const [job] = props.jobs;
  const remove = useJobAct(
    props,
    async (j) => {
      await dataOf(api(props.tenant).DELETE("/v1/jobs/{id}", { params: { path: { id: j.id } } }));
      return j;
    },
    () => toast("Job deleted"),
  );
  if (!job) return null;
  return (
    <ConfirmDialog
      {...props}
      title="Delete the job?"
      action="Delete job"
      danger
      effect={
        <>The job is deleted with the inputs, results and events of {plural(job.counts.total, "item")}. Its cost stays in the usage.</>
      }
      undo="This cannot be undone. Its Idempotency-Key will not run again."
      typed={splitId(job.id).tail}
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate([job])}
      call={{ method: "DELETE", path: `/v1/jobs/${job.id}` }}
    />
  );
}
