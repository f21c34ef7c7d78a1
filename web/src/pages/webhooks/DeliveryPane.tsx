import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Send, X } from "lucide-react";
import { api, dataOf, read, readKey, type Schemas } from "@/api";
import { Button, IconButton } from "@/components/Button";
import { CurlButton } from "@/components/Copy";
import { cn } from "@/components/cn";
import { Id } from "@/components/Id";
import { KeyValue, PaneSection } from "@/components/KeyValue";
import { IdLink } from "@/components/LinkedText";
import { Skeleton } from "@/components/Skeleton";
import { StateGlyph } from "@/components/StateGlyph";
import { ErrorPanel } from "@/components/States";
import { Time } from "@/components/Time";
import { toast } from "@/components/Toast";
import { formatDuration } from "@/format";
import { useShortcuts } from "@/hooks/shortcuts";
import { useOneTenant } from "@/routes";
import { useRole } from "@/session";
import { DeliveryState } from "./Deliveries";

const path = "/v1/deliveries/{id}";

/** One message: where it went, each attempt, and Redeliver. A message has no prompt and no answer in it. */
export function DeliveryPane({ id, onClose }: { id: string; onClose: () => void }) {
  const tenant = useOneTenant();
  const queries = useQueryClient();
  const delivery = useQuery(read(tenant, path, { params: { path: { id } } }));
  const mayRedeliver = useRole(tenant, "developer", "operator");
  useShortcuts({ Escape: onClose });
  const again = useMutation({
    mutationFn: () => dataOf(api(tenant).POST("/v1/deliveries/{id}/redeliver", { params: { path: { id } } })),
    onSuccess: () => {
      toast("Message queued again", { description: "It has the same webhook-id, so a receiver that keeps ids does the work once." });
      for (const old of [path, "/v1/deliveries", "/v1/webhooks/{id}/deliveries"]) {
        void queries.invalidateQueries({ queryKey: readKey(tenant, old) });
      }
    },
  });
  const d = delivery.data;
  return (
    <>
      <section className="border-b border-line px-5 py-4">
        <div className="flex items-center gap-3">
          <h2 className="truncate font-mono text-13 font-medium">{d?.type ?? "Delivery"}</h2>
          {d && <DeliveryState status={d.status} />}
          <span className="ml-auto">
            <IconButton small icon={X} label="Close the pane" hint="Esc" onClick={onClose} />
          </span>
        </div>
        {delivery.error && <ErrorPanel error={delivery.error} onRetry={() => void delivery.refetch()} />}
        {delivery.isPending && <Skeleton className="my-3 w-2/3" />}
        {d && (
          <>
            <div className="my-3 flex gap-2">
              {mayRedeliver && (
                <Button small icon={Send} busy={again.isPending} onClick={() => again.mutate()}>
                  Redeliver
                </Button>
              )}
              <CurlButton small call={{ method: "POST", path: `/v1/deliveries/${id}/redeliver` }} />
            </div>
            {again.error && <ErrorPanel error={again.error} />}
            <KeyValue
              facts={[
                { name: "Delivery", value: <Id id={d.id} />, copy: d.id },
                { name: "webhook-id", value: <Id id={d.event_id} />, copy: d.event_id },
                { name: "URL", value: <span className="font-mono text-12">{d.url}</span>, copy: d.url },
                {
                  name: "Job",
                  value: d.job_id && <IdLink id={d.job_id} />,
                  copy: d.job_id ?? undefined,
                },
                { name: "Created", value: <Time iso={d.created_at} /> },
                { name: "Delivered", value: <Time iso={d.delivered_at} /> },
                { name: "Next try", value: <Time iso={d.next_at} /> },
              ]}
            />
            {d.error && <p className="mt-2 text-12 break-words text-red">Not sent again: {d.error}</p>}
          </>
        )}
      </section>
      {d && (
        <PaneSection title="Attempts" aside={d.attempts > d.history.length ? `last ${d.history.length} of ${d.attempts}` : undefined}>
          <Tries tries={d.history} first={d.attempts - d.history.length + 1} />
        </PaneSection>
      )}
    </>
  );
}

/** The attempts, in order, each with the wait before it. */
function Tries({ tries, first }: { tries: readonly Schemas["DeliveryTry"][]; first: number }) {
  if (tries.length === 0) return <p className="py-1 text-ink-3">No attempt yet.</p>;
  const slowest = Math.max(...tries.map((t) => t.duration_ms), 1);
  return (
    <ol className="flex flex-col">
      {tries.map((t, i) => {
        const before = tries[i - 1];
        const waited = before ? Date.parse(t.at) - Date.parse(before.at) - before.duration_ms : null;
        return (
          <li key={t.at} className="border-t border-line py-2 first:border-t-0">
            {waited !== null && <p className="mb-1 pl-6 text-12 text-ink-3">after {formatDuration(waited)}</p>}
            <div className="flex items-center gap-2">
              <StateGlyph state={t.error === null ? "succeeded" : "failed"} />
              <span className="num text-12 text-ink-3">{first + i}</span>
              <Time iso={t.at} />
              <span className={cn("num ml-auto font-medium", t.error === null ? "text-green" : "text-red")}>
                {t.status_code ?? "no answer"}
              </span>
              <span className="num w-16 text-right text-12 text-ink-2">{formatDuration(t.duration_ms)}</span>
            </div>
            <div aria-hidden className="mt-1 ml-6 h-1 rounded-full bg-line">
              <div
                className={cn("h-full min-w-0.5 rounded-full", t.error === null ? "bg-green-solid" : "bg-red-solid")}
                style={{ width: `${(100 * t.duration_ms) / slowest}%` }}
              />
            </div>
            {t.error && <p className="mt-1 pl-6 text-12 break-words text-ink-2">{t.error}</p>}
          </li>
        );
      })}
    </ol>
  );
}
