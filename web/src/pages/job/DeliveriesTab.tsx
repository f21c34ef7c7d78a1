import { IdLink } from "@/components/LinkedText";
import { EmptyState } from "@/components/States";
import { Time } from "@/components/Time";
import { plural } from "@/format";
import { Answer, DeliveryState } from "@/pages/webhooks/Deliveries";
import type { Delivery } from "@/pages/webhooks/state";

/** The messages about a job: to its own webhook, and to the endpoints of the tenant. */
export function DeliveriesTab({ deliveries }: { deliveries: readonly Delivery[] }) {
  if (deliveries.length === 0) {
    return (
      <EmptyState title="No deliveries">
        No webhook was told about this job. A job can name a webhook of its own, and endpoints of the tenant receive the events that they
        ask for.
      </EmptyState>
    );
  }
  return (
    <ul className="px-4 py-2 md:px-6">
      {deliveries.map((d) => (
        <li key={d.id} className="flex flex-wrap items-center gap-x-4 gap-y-0.5 border-b border-line py-2 last:border-b-0">
          <span className="w-24">
            <DeliveryState status={d.status} />
          </span>
          <IdLink id={d.id} />
          <span className="font-mono text-12">{d.type}</span>
          <span className="min-w-0 flex-1 truncate font-mono text-12 text-ink-2">{d.url}</span>
          <span className="num text-12 text-ink-3">{plural(d.attempts, "try", "tries")}</span>
          <span className="num">
            <Answer delivery={d} />
          </span>
          <Time iso={d.delivered_at ?? d.created_at} />
          {d.error && <p className="w-full text-12 break-words text-red">{d.error}</p>}
        </li>
      ))}
    </ul>
  );
}
