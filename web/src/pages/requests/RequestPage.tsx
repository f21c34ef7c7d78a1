import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Waypoints } from "lucide-react";
import { useState } from "react";
import { read, type Schemas } from "@/api";
import { Button } from "@/components/Button";
import { CurlButton } from "@/components/Copy";
import { Cost } from "@/components/Cost";
import { FactStrip } from "@/components/FactStrip";
import { FullId } from "@/components/Id";
import { Skeleton, useSlow } from "@/components/Skeleton";
import { asState, StatePill } from "@/components/StateGlyph";
import { ErrorPanel } from "@/components/States";
import { Time, TimeAgo } from "@/components/Time";
import { between, formatAmount, formatDuration, missing, threeFigures } from "@/format";
import { PageBody, WithPane } from "@/frame/Page";
import { PageHead } from "@/frame/PageHead";
import { useOneTenant } from "@/routes";
import { Route } from "./columns";
import { ExplainDialog } from "./ExplainDialog";
import { RequestContent } from "./RequestContent";
import { RequestPane } from "./RequestPane";

export type RequestRecord = Schemas["Request"];

export function RequestPage() {
  const tenant = useOneTenant();
  const { id } = useParams({ from: "/frame/t/$tenant/requests/$id" });
  const request = useQuery({ ...read(tenant, "/v1/requests/{id}", { params: { path: { id } } }), staleTime: Number.POSITIVE_INFINITY });
  const slow = useSlow(request.isPending);
  if (request.error) {
    return (
      <>
        <PageHead title={<FullId id={id} />} name={id} />
        <ErrorPanel error={request.error} onRetry={() => void request.refetch()} />
      </>
    );
  }
  if (!request.data) {
    return (
      <>
        <PageHead title={<FullId id={id} />} name={id} />
        <PageBody>
          {slow && (
            <>
              <Skeleton className="h-16" />
              <Skeleton className="h-48" />
            </>
          )}
        </PageBody>
      </>
    );
  }
  return <Loaded request={request.data} />;
}

function Loaded({ request: r }: { request: RequestRecord }) {
  const [explaining, setExplaining] = useState(false);
  return (
    <div className="flex min-h-full flex-col">
      <PageHead
        name={r.id}
        title={
          <>
            <StatePill state={asState(r.status)} />
            <FullId id={r.id} />
          </>
        }
        detail={
          <>
            <Route request={r} />
            <Dot />
            <span className="font-mono text-12">{r.endpoint}</span>
            <Dot />
            <span>
              key <span className="font-medium text-ink">{r.key || missing}</span>
            </span>
            <Dot />
            <span>
              <Time iso={r.started_at} /> (<TimeAgo iso={r.started_at} suffix=" ago" />)
            </span>
          </>
        }
      >
        <Button icon={Waypoints} onClick={() => setExplaining(true)}>
          Explain this route now…
        </Button>
        <CurlButton call={{ path: `/v1/requests/${r.id}` }} />
      </PageHead>
      <FactStrip label="Figures of the request" facts={factsOf(r)} />
      <WithPane pane={<RequestPane request={r} />}>
        <RequestContent request={r} />
      </WithPane>
      <ExplainDialog model={r.model} endpoint={r.endpoint} open={explaining} onOpenChange={setExplaining} />
    </div>
  );
}

function Dot() {
  return (
    <span aria-hidden className="text-ink-3">
      ·
    </span>
  );
}

function factsOf(r: RequestRecord) {
  const total = between(r.started_at, r.finished_at);
  const writing = between(r.first_token_at, r.finished_at);
  const out = r.usage.output_tokens;
  const rate = r.stream && writing && writing >= 100 && out > 1 ? `${threeFigures((1000 * out) / writing)}/s` : "";
  const cached = r.usage.cached_input_tokens;
  return [
    { name: "Duration", value: formatDuration(total) },
    { name: "First token", value: formatDuration(between(r.started_at, r.first_token_at)), note: r.stream ? "streamed" : "not streamed" },
    { name: "Output", value: formatAmount(out), note: rate ? `tokens · ${rate}` : "tokens" },
    { name: "Input", value: formatAmount(r.usage.input_tokens), note: cached > 0 ? `tokens · ${formatAmount(cached)} cached` : "tokens" },
    { name: "Cost", value: <Cost usd={r.usage.cost_usd} what="settled" />, note: r.cache ? "another call paid" : "settled" },
    { name: "Attempts", value: String(r.history.length) },
  ];
}
