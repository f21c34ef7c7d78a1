import { useState } from "react";
import { api, dataOf, type Schemas } from "@/api";
import { ConfirmDialog, typedCount } from "@/components/ConfirmDialog";
import { Segments } from "@/components/Tabs";
import { toast } from "@/components/Toast";
import { plural, shortId } from "@/format";
import { hasEnded, type Job, unsuccessful } from "./job";
import { type JobDialogProps, pathOf, sum, useJobAct } from "./jobActs";
import { RetryTrial, useRetryTrial } from "./RetryTrial";

const resolves = [
  { value: "same", label: "Same targets" },
  { value: "fresh", label: "Current targets" },
] as const;

export function RetryDialog(props: JobDialogProps) {
  const { tenant, open } = props;
  const [resolve, setResolve] = useState<Schemas["Resolve"]>("same");
  const jobs = props.jobs.filter((j) => hasEnded(j) && unsuccessful(j) > 0);
  const others = props.jobs.length - jobs.length;
  const ids = jobs.map((j) => j.id);
  const trial = useRetryTrial(tenant, ids, resolve, open);
  const items = trial.data?.items ?? sum(jobs, unsuccessful);
  const retry = useJobAct(
    props,
    (job) => dataOf(api(tenant).POST("/v1/jobs/{id}/retry", { params: { path: { id: job.id } }, body: { resolve } })) as Promise<Job>,
    (answers) =>
      toast(answers.length === 1 ? `Retried in ${shortId(answers[0]?.id ?? "")}` : `Retried in ${plural(answers.length, "new job")}`),
  );
  return (
    <ConfirmDialog
      {...props}
      title={jobs.length === 1 ? "Retry the job?" : `Retry ${plural(jobs.length, "job")}?`}
      action={jobs.length === 1 ? "Retry job" : "Retry jobs"}
      effect={
        <div className="flex flex-col gap-3 text-13">
          <p>The items that failed, expired or were cancelled, and were not retried before, run again.</p>
          <Segments label="Targets" value={resolve} tabs={resolves} onChange={setResolve} />
          <RetryTrial trial={trial} />
          {others > 0 && <p>{plural(others, "selected job")} have nothing to retry.</p>}
        </div>
      }
      undo="The new job can be cancelled. The first one stays as it is."
      typed={typedCount(items)}
      waiting={!trial.data}
      busy={retry.isPending}
      error={retry.error}
      onConfirm={() => retry.mutate(jobs)}
      call={{ method: "POST", path: pathOf(jobs, "retry"), body: { resolve } }}
    />
  );
}
