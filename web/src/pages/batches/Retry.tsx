import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, dataOf, readKey, type Schemas } from "@/api";
import { ConfirmDialog, typedCount } from "@/components/ConfirmDialog";
import { Field, Input } from "@/components/Field";
import { Select } from "@/components/Select";
import { toast } from "@/components/Toast";
import { formatCount, plural } from "@/format";
import { forEach } from "@/pages/job/jobActs";
import { RetryTrial, useRetryTrial } from "@/pages/job/RetryTrial";
import { type Batch, unsuccessful } from "./batch";

type Resolve = Schemas["Resolve"];

/** Retries each job of a batch. A job without unsuccessful items is refused, which is no failure while another one is retried. */
async function retryJobs(tenant: string, jobs: readonly string[], body: { resolve: Resolve; rate?: number }) {
  const { answers, refusals } = await forEach(jobs, (id) =>
    dataOf(api(tenant).POST("/v1/jobs/{id}/retry", { params: { path: { id } }, body })),
  );
  if (answers.length === 0 && refusals[0]) throw refusals[0];
  return answers as Schemas["Job"][];
}

interface Props {
  tenant: string;
  batch: Batch;
  onClose: () => void;
  onMade: (job: string) => void;
}

/** Runs the unsuccessful items again: one new job for each job of the batch. */
export function RetryBatch({ tenant, batch: b, onClose, onMade }: Props) {
  const queries = useQueryClient();
  const [resolve, setResolve] = useState<Resolve>("same");
  const [rate, setRate] = useState("");
  const count = unsuccessful(b.counts);
  const body = { resolve, ...(rate ? { rate: Number(rate) } : {}) };
  const invalid = rate !== "" && !(Number(rate) >= 0.1 && Number(rate) <= 1000);
  const trial = useRetryTrial(tenant, b.jobs, resolve);
  const retry = useMutation({
    mutationFn: () => retryJobs(tenant, b.jobs, body),
    onSuccess: (jobs) => {
      toast(`${plural(count, "item")} will run again`);
      void queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/dead_letters") });
      const [first] = jobs;
      if (first) onMade(first.id);
    },
  });
  return (
    <ConfirmDialog
      open
      onOpenChange={(o) => !o && onClose()}
      title="Retry unsuccessful items"
      effect={
        <div className="flex flex-col gap-3 text-13">
          <p>
            {plural(count, "item")} will run again in a new job: {formatCount(b.counts.failed)} failed, {formatCount(b.counts.expired)}{" "}
            expired, {formatCount(b.counts.cancelled)} cancelled. The results go to the new job; this batch and its files stay as they are.
          </p>
          <Field label="Targets">
            <Select<Resolve>
              label="Targets"
              value={resolve}
              onChange={setResolve}
              choices={[
                { value: "same", label: "Same targets as this batch" },
                { value: "fresh", label: "Current targets of the model" },
              ]}
            />
          </Field>
          <Field label="Items per second, at most" hint="Empty: no cap" error={invalid ? "From 0.1 to 1000." : null}>
            <Input inputMode="decimal" value={rate} onChange={(e) => setRate(e.target.value)} />
          </Field>
          <RetryTrial trial={trial} />
        </div>
      }
      undo="The new job can be cancelled while it runs."
      typed={typedCount(count)}
      action="Retry items"
      waiting={invalid || !trial.data}
      busy={retry.isPending}
      error={retry.error ?? undefined}
      onConfirm={() => retry.mutate()}
      call={{ method: "POST", path: `/v1/jobs/${b.id}/retry`, body }}
    />
  );
}
