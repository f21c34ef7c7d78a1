import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { read, type Schemas } from "@/api";
import { CurlButton } from "@/components/Copy";
import { Cost } from "@/components/Cost";
import { FullId } from "@/components/Id";
import { KeyValue, PaneSection } from "@/components/KeyValue";
import { Peek } from "@/components/Peek";
import { Skeleton } from "@/components/Skeleton";
import { asState, StatePill } from "@/components/StateGlyph";
import { ErrorPanel } from "@/components/States";
import { Time } from "@/components/Time";
import { between, formatAmount, formatDuration } from "@/format";
import { useOneTenant } from "@/routes";
import { Attempts } from "./Attempts";
import { Cache, Tags } from "./columns";

/** The call of the current row: its figures, its attempts and why each target was chosen. */
export function RequestPeek({ id, onClose }: { id: string; onClose: () => void }) {
  const tenant = useOneTenant();
  const request = useQuery({ ...read(tenant, "/v1/requests/{id}", { params: { path: { id } } }), placeholderData: keepPreviousData });
  return (
    <Peek
      label="Request"
      title={request.data ? <StatePill state={asState(request.data.status)} /> : <Skeleton className="w-24" />}
      actions={
        <>
          <CurlButton call={{ path: `/v1/requests/${id}` }} />
          <Link
            to="/t/$tenant/requests/$id"
            params={{ tenant, id }}
            className="inline-flex h-[30px] items-center rounded-control border border-line-2 bg-surface px-3 font-medium hover:bg-hover"
          >
            Open request
          </Link>
        </>
      }
      onClose={onClose}
    >
      {request.error ? (
        <ErrorPanel error={request.error} onRetry={() => void request.refetch()} />
      ) : (
        request.data && <Body request={request.data} />
      )}
    </Peek>
  );
}

function Body({ request: r }: { request: Schemas["Request"] }) {
  return (
    <>
      <div className="border-b border-line px-5 py-2">
        <FullId id={r.id} />
      </div>
      {r.error && (
        <PaneSection title={r.error.code}>
          <p className="break-words text-red">{r.error.message}</p>
        </PaneSection>
      )}
      <PaneSection title="Attempts" aside={`${r.history.length} in ${formatDuration(between(r.started_at, r.finished_at))}`}>
        <Attempts attempts={r.history} />
      </PaneSection>
      <PaneSection title="Call">
        <KeyValue
          facts={[
            { name: "Model", value: r.model, copy: r.model },
            { name: "Key", value: r.key, copy: r.key },
            { name: "Started", value: <Time iso={r.started_at} />, copy: r.started_at },
            { name: "First token", value: formatDuration(between(r.started_at, r.first_token_at)) },
            { name: "Tokens", value: `${formatAmount(r.usage.input_tokens)} in, ${formatAmount(r.usage.output_tokens)} out` },
            { name: "Cost", value: <Cost usd={r.usage.cost_usd} what="settled" />, copy: r.usage.cost_usd },
            { name: "Cache", value: <Cache cache={r.cache} /> },
            { name: "Subject", value: r.subject, copy: r.subject ?? undefined },
            { name: "Tags", value: <Tags tags={r.tags} /> },
          ]}
        />
      </PaneSection>
    </>
  );
}
