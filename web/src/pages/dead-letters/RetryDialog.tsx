import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";
import { asApiError, readKey } from "@/api";
import { ConfirmDialog, typedCount } from "@/components/ConfirmDialog";
import { Cost } from "@/components/Cost";
import { DryRunBox } from "@/components/DryRunBox";
import { Field, Input } from "@/components/Field";
import { Segments } from "@/components/Tabs";
import { formatCount, plural } from "@/format";
import { useOneTenant } from "@/routes";
import { RetryProgress } from "./RetryProgress";
import { type Effect, type Filter, type Progress, retryAll, skippedItems, type Terms, totalOf, tryRetry } from "./replay";

const versions = [
  { value: "same", label: "Same targets" },
  { value: "fresh", label: "Resolve afresh" },
] as const;

/** The rate of the form: null for no cap, undefined for nonsense. The bounds are those of the server. */
export function rateOf(text: string): number | null | undefined {
  if (text.trim() === "") return null;
  const rate = Number(text);
  return rate >= 0.1 && rate <= 1000 ? rate : undefined;
}

/** How to retry, the dry run of it, and its progress afterwards. */
export function RetryDialog({
  what,
  filters,
  onClose,
  onDone,
}: {
  what: string;
  filters: Filter[];
  onClose: () => void;
  onDone: () => void;
}) {
  const tenant = useOneTenant();
  const queries = useQueryClient();
  const [resolve, setResolve] = useState<Terms["resolve"]>("same");
  const [rateText, setRateText] = useState("");
  const [progress, setProgress] = useState<Progress | null>(null);
  const [running, setRunning] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const rate = rateOf(useDeferredValue(rateText));
  const terms: Terms = { resolve, rate: rate ?? null };
  // The rate changes neither the count nor the cost, so it asks for no further dry run.
  const dry = useQuery({
    queryKey: [tenant, "dead-letters-dry-run", filters, resolve],
    queryFn: () => tryRetry(tenant, filters, { resolve, rate: null }),
    staleTime: 0,
    gcTime: 0,
  });
  const effect = dry.data;
  const count = effect ? totalOf(effect) : 0;

  const start = async () => {
    if (!effect) return;
    setRunning(true);
    setFailure(null);
    try {
      await retryAll(tenant, filters, terms, effect, setProgress);
      onDone();
    } catch (error) {
      setFailure(asApiError(error));
    } finally {
      setRunning(false);
      void queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/dead_letters") });
      void queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/dead_letters/items") });
      void queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/jobs") });
    }
  };
  if (progress) return <RetryProgress progress={progress} total={count} running={running} error={failure} onClose={onClose} />;
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Retry ${what}`}
      effect={
        <div className="flex flex-col gap-3 text-13">
          <Field
            label="Versions"
            hint={
              resolve === "same"
                ? "The targets that each first job was resolved to. Good for a failure that has passed."
                : "The targets that its model has now. Good after a change of the configuration."
            }
          >
            <div>
              <Segments label="Versions" value={resolve} tabs={versions} onChange={setResolve} />
            </div>
          </Field>
          <Field
            label="At most, items per second"
            hint="Empty: as fast as the limits allow."
            error={rate === undefined ? "A rate is from 0.1 to 1,000 items per second." : null}
          >
            <Input inputMode="decimal" value={rateText} onChange={(e) => setRateText(e.target.value)} placeholder="No cap" />
          </Field>
          <DryRunBox loading={dry.isPending} error={dry.error} onRetry={() => void dry.refetch()}>
            {effect && <EffectText effect={effect} />}
          </DryRunBox>
        </div>
      }
      undo="A retry cannot be undone. Cancel the new jobs while they run to stop it. The audit records it with your name."
      typed={typedCount(count)}
      action={effect ? `Retry ${plural(count, "item")}` : "Retry"}
      waiting={dry.isFetching || count === 0 || rate === undefined}
      busy={running}
      error={failure}
      onConfirm={() => void start()}
      call={{
        method: "POST",
        path: "/v1/dead_letters/retry",
        body: { filter: filters[0], ...terms, ...(rate === null ? { rate: undefined } : {}) },
      }}
    />
  );
}

/** The count and the cost of the dry run. */
function EffectText({ effect }: { effect: Effect }) {
  const count = totalOf(effect);
  const part = effect.priced < count;
  return (
    <>
      <p className="text-14">
        <span className="num font-semibold">{plural(count, "item")}</span>
        {count > 0 && (
          <>
            {" "}
            {part ? "in more than " : "in "}
            <span className="num font-semibold">{plural(effect.jobs, "new job")}</span>, at most{" "}
            <span className="font-semibold">
              <Cost usd={effect.atMost} />
            </span>
            {part && ` for the first ${formatCount(effect.priced)}`}.
          </>
        )}
        {count === 0 && " can be retried now."}
      </p>
      {effect.skipped.length > 0 && (
        <p className="mt-2 text-12 text-amber">
          {plural(skippedItems(effect), "item")} of {plural(effect.skipped.length, "job")} cannot be retried:{" "}
          {effect.skipped[0]?.error.message}
        </p>
      )}
    </>
  );
}
