import { useQuery } from "@tanstack/react-query";
import { read } from "@/api";
import { Chip } from "@/components/Chip";
import { StateGlyph } from "@/components/StateGlyph";
import { TimeAgo } from "@/components/Time";
import type { Column } from "@/components/table/column";
import { formatPercent, missing } from "@/format";
import { useOneTenant } from "@/routes";
import { DeliveryState } from "./Deliveries";
import { endpointState, successRate, type Webhook } from "./state";

/** The newest deliveries of an endpoint, for its success rate. A tenant has at most 20 endpoints. */
export function useRecentDeliveries(id: string) {
  return useQuery(read(useOneTenant(), "/v1/webhooks/{id}/deliveries", { params: { path: { id }, query: { limit: 100 } } })).data?.data;
}

export const endpointColumns: readonly Column<Webhook>[] = [
  { id: "state", header: "State", width: "96px", narrow: "lead", cell: (h) => <EndpointState hook={h} /> },
  {
    id: "url",
    header: "Endpoint",
    width: "minmax(240px, 1fr)",
    narrow: "line",
    cell: (h) => (
      <span className="flex min-w-0 flex-col max-md:flex-row max-md:gap-2">
        <span className="truncate font-mono text-12/5">{h.url}</span>
        {h.description && <span className="truncate text-12 text-ink-3 max-md:hidden">{h.description}</span>}
      </span>
    ),
  },
  {
    id: "events",
    header: "Events",
    width: "minmax(120px, 320px)",
    narrow: "hide",
    cell: (h) => (
      <span className="flex gap-1 overflow-hidden">
        {h.events.map((e) => (
          <Chip key={e} mono>
            {e}
          </Chip>
        ))}
      </span>
    ),
  },
  { id: "success", header: "Success", width: "72px", align: "right", narrow: "side", cell: (h) => <Success id={h.id} /> },
  { id: "last", header: "Last delivery", width: "168px", narrow: "hide", cell: (h) => <LastDelivery id={h.id} /> },
];

export function EndpointState({ hook }: { hook: Webhook }) {
  const { state, word } = endpointState(hook);
  return (
    <span className="inline-flex items-center gap-1.5">
      <StateGlyph state={state} />
      {word}
    </span>
  );
}

export function Success({ id }: { id: string }) {
  const rate = successRate(useRecentDeliveries(id) ?? []);
  return rate === null ? missing : <span className={rate < 0.9 ? "text-red" : undefined}>{formatPercent(rate)}</span>;
}

export function LastDelivery({ id }: { id: string }) {
  const last = useRecentDeliveries(id)?.[0];
  if (!last) return missing;
  return (
    <span className="flex items-center gap-2">
      <DeliveryState status={last.status} />
      <span className="text-12 text-ink-3">
        <TimeAgo iso={last.created_at} suffix=" ago" />
      </span>
    </span>
  );
}
