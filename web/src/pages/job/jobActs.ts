import { useMutation, useQueryClient } from "@tanstack/react-query";
import { ApiError, asApiError, readKey } from "@/api";
import { plural } from "@/format";
import type { Job } from "./job";

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

/** Does an act for each job, four at a time, and goes on after a refusal. */
export async function forEach<J, T>(jobs: readonly J[], act: (job: J) => Promise<T>): Promise<{ answers: T[]; refusals: ApiError[] }> {
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
  return { answers, refusals };
}

/** Does an act for each job. Refusals become one error at the end, with their number and the first reason. */
async function forAll<T>(jobs: readonly Job[], act: (job: Job) => Promise<T>): Promise<T[]> {
  const { answers, refusals } = await forEach(jobs, act);
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
export function useJobAct(props: JobDialogProps, act: (job: Job) => Promise<Job>, done: (answers: readonly Job[]) => void) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (jobs: readonly Job[]) => forAll(jobs, act),
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

export function pathOf(jobs: readonly Job[], verb: string): string {
  return `/v1/jobs/${jobs.length === 1 ? jobs[0]?.id : "$JOB"}/${verb}`;
}

export function sum(jobs: readonly Job[], count: (job: Job) => number): number {
  return jobs.reduce((n, j) => n + count(j), 0);
}
