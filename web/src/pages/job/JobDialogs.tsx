import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError, api, asApiError, dataOf, readKey } from "@/api";
import { ConfirmDialog, typedCount } from "@/components/ConfirmDialog";
import { Segments } from "@/components/Tabs";
import { toast } from "@/components/Toast";
import { plural, shortId, splitId } from "@/format";
import { hasEnded, type Job, unfinished, unsuccessful } from "./job";

export interface JobDialogProps {
  tenant: string;
  /** The jobs as the page knows them; the server decides about each again. */
  jobs: readonly Job[];
  open: boolean;
  onOpenChange: (open: boolean) => void;
  /** The acts are done; the answers of the server. */
  onDone?: (answers: readonly Job[]) => void;
}

const atOnce = 4;

/** Does an act for each job, four at a time. It goes on after a refusal, and fails at the end with the number of refusals and the first reason. */
async function forEach<T>(jobs: readonly Job[], act: (job: Job) => Promise<T>): Promise<T[]> {
  const left = [...jobs];
  const answers: T[] = [];
  const refusals: ApiError[] = [];
  const run = async () => {
    for (let job = left.shift(); job; job = left.shift()) {
      try {
        answers.push(await act(job));
      } catch (error) {
        refusals.push(asApiError(error));
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, run));
  const [first] = refusals;
  if (!first) return answers;
  if (jobs.length === 1) throw first;
  throw new ApiError(
    first.status,
    {
      code: first.code as never,
      message: `${plural(refusals.length, "job")} of ${jobs.length} refused it, ${answers.length} did not. The first: ${first.message}`,
    },
    first.requestId,
  );
}

/** An act on jobs: the lists are read again after it, also where a part was refused. */
function useJobAct(props: JobDialogProps, act: (job: Job) => Promise<Job>, done: (answers: readonly Job[]) => void) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (jobs: readonly Job[]) => forEach(jobs, act),
    onSuccess: (answers) => {
      props.onOpenChange(false);
      done(answers);
      props.onDone?.(answers);
    },
    onSettled: () => {
      for (const path of ["/v1/jobs", "/v1/jobs/summary", "/v1/jobs/{id}", "/v1/jobs/{id}/items", "/v1/items/{id}"]) {
        void queries.invalidateQueries({ queryKey: readKey(props.tenant, path) });
      }
    },
  });
}

function pathOf(jobs: readonly Job[], verb: string): string {
  return `/v1/jobs/${jobs.length === 1 ? jobs[0]?.id : "$JOB"}/${verb}`;
}

function sum(jobs: readonly Job[], count: (job: Job) => number): number {
  return jobs.reduce((n, j) => n + count(j), 0);
}

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

const resolves = [
  { value: "same", label: "Same targets" },
  { value: "fresh", label: "Current targets" },
] as const;

export function RetryDialog(props: JobDialogProps) {
  const [resolve, setResolve] = useState<"same" | "fresh">("same");
  const jobs = props.jobs.filter((j) => hasEnded(j) && unsuccessful(j) > 0);
  const others = props.jobs.length - jobs.length;
  const items = sum(jobs, unsuccessful);
  const retry = useJobAct(
    props,
    (job) => dataOf(api(props.tenant).POST("/v1/jobs/{id}/retry", { params: { path: { id: job.id } }, body: { resolve } })),
    (answers) =>
      toast(answers.length === 1 ? `Retried in ${shortId(answers[0]?.id ?? "")}` : `Retried in ${plural(answers.length, "new job")}`),
  );
  return (
    <ConfirmDialog
      {...props}
      title={jobs.length === 1 ? "Retry the job?" : `Retry ${plural(jobs.length, "job")}?`}
      action={jobs.length === 1 ? "Retry job" : "Retry jobs"}
      effect={
        <div className="flex flex-col gap-3">
          <p>
            At most {plural(items, "item")} run again in {plural(jobs.length, "new job")}: those that failed, expired or were cancelled, and
            were not retried before. They cost as much as the first time.
            {others > 0 && <> {plural(others, "selected job")} have nothing to retry.</>}
          </p>
          <Segments label="Targets" value={resolve} tabs={resolves} onChange={setResolve} />
        </div>
      }
      undo="The new job can be cancelled. The first one stays as it is."
      typed={typedCount(items)}
      waiting={jobs.length === 0}
      busy={retry.isPending}
      error={retry.error}
      onConfirm={() => retry.mutate(jobs)}
      call={{ method: "POST", path: pathOf(jobs, "retry"), body: { resolve } }}
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
