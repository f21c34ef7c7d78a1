import { useQuery } from "@tanstack/react-query";
import { api, dataOf, type Schemas } from "@/api";
import { Cost } from "@/components/Cost";
import { DryRunBox } from "@/components/DryRunBox";
import { addCosts, plural } from "@/format";
import { forEach } from "./jobActs";

/** The effect that a retry of some jobs would have, by the dry runs of the server. */
async function tryRetry(tenant: string, ids: readonly string[], resolve: Schemas["Resolve"]) {
  const { answers, refusals } = await forEach(ids, (id) =>
    dataOf(api(tenant).POST("/v1/jobs/{id}/retry", { params: { path: { id } }, body: { resolve, dry_run: true } })),
  );
  const trials = answers as Schemas["RetryTrial"][];
  const [first] = refusals;
  if (first && trials.length === 0) throw first;
  return {
    jobs: trials.length,
    items: trials.reduce((n, t) => n + t.items, 0),
    atMost: addCosts(trials.map((t) => t.at_most.cost_usd)),
    refused: refusals.length,
    reason: first?.message,
  };
}

export function useRetryTrial(tenant: string, ids: readonly string[], resolve: Schemas["Resolve"], enabled = true) {
  return useQuery({
    queryKey: [tenant, "retry-dry-run", ids, resolve],
    queryFn: () => tryRetry(tenant, ids, resolve),
    enabled: enabled && ids.length > 0,
    retry: false,
    staleTime: 0,
    gcTime: 0,
  });
}

export function RetryTrial({ trial }: { trial: ReturnType<typeof useRetryTrial> }) {
  const effect = trial.data;
  return (
    <DryRunBox loading={trial.isPending} error={trial.error} onRetry={() => void trial.refetch()}>
      {effect && (
        <p className="text-14">
          <span className="num font-semibold">{plural(effect.items, "item")}</span> in{" "}
          <span className="num font-semibold">{plural(effect.jobs, "new job")}</span>, at most{" "}
          <span className="font-semibold">
            <Cost usd={effect.atMost} />
          </span>
          .
        </p>
      )}
      {effect && effect.refused > 0 && (
        <p className="mt-2 text-12 text-amber">
          {plural(effect.refused, "job")} cannot be retried: {effect.reason}
        </p>
      )}
    </DryRunBox>
  );
}
