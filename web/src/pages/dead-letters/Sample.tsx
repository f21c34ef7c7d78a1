import { useQuery } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight } from "lucide-react";
import { read, type Schemas } from "@/api";
import { IconButton } from "@/components/Button";
import { Id } from "@/components/Id";
import { KeyValue, PaneSection } from "@/components/KeyValue";
import { IdLink } from "@/components/LinkedText";
import { Reveal } from "@/components/Reveal";
import { Skeleton } from "@/components/Skeleton";
import { ErrorPanel } from "@/components/States";
import { between, formatDuration } from "@/format";
import { useOneTenant } from "@/routes";
import { useRole } from "@/session";
import { ItemInput } from "./Input";

export interface SampleProps {
  id: string;
  items: readonly Schemas["DeadLetter"][];
  onItem: (item: string) => void;
}

/** One item of the group: its job, its attempts, and its input behind Reveal. */
export function Sample({ id, items, onItem }: SampleProps) {
  const tenant = useOneTenant();
  const item = useQuery(read(tenant, "/v1/items/{id}", { params: { path: { id } } }));
  const at = items.findIndex((i) => i.item_id === id);
  const job = items[at]?.job_id ?? item.data?.job_id;
  const mayReveal = useRole(tenant, "developer", "reviewer");
  const step = (by: number) => {
    const next = items[at + by];
    if (next) onItem(next.item_id);
  };
  return (
    <PaneSection
      title="Sample"
      aside={
        items.length > 1 &&
        at >= 0 && (
          <span className="num flex items-center gap-1">
            <IconButton small icon={ChevronLeft} label="Previous item" disabled={at === 0} onClick={() => step(-1)} />
            {at + 1} of {items.length}
            <IconButton small icon={ChevronRight} label="Next item" disabled={at === items.length - 1} onClick={() => step(1)} />
          </span>
        )
      }
    >
      <KeyValue
        facts={[
          { name: "Item", value: <Id id={id} />, copy: id },
          { name: "Job", value: job && <IdLink id={job} />, copy: job },
          ...(item.data?.custom_id ? [{ name: "Custom id", value: item.data.custom_id, copy: item.data.custom_id }] : []),
        ]}
      />
      {item.error ? <ErrorPanel error={item.error} onRetry={() => void item.refetch()} /> : <Attempts attempts={item.data?.history} />}
      <div className="mt-3">
        <Reveal what="the input" allowed={mayReveal}>
          {() => <ItemInput id={id} />}
        </Reveal>
      </div>
    </PaneSection>
  );
}

function Attempts({ attempts }: { attempts: readonly Schemas["Attempt"][] | undefined }) {
  if (!attempts) return <Skeleton className="my-3 w-2/3" />;
  if (attempts.length === 0) return <p className="py-1 text-12 text-ink-3">It failed before an attempt.</p>;
  return (
    <ol aria-label="Attempts" className="mt-1 flex flex-col">
      {attempts.map((a) => (
        <li key={a.id} className="flex gap-3 border-t border-line py-2">
          <span className="num w-5 shrink-0 text-12 text-ink-3">{a.number}</span>
          <div className="min-w-0 flex-1">
            <p className="flex items-center gap-2">
              <span className="truncate font-medium">{a.target ?? "No target"}</span>
              {a.status_code !== null && <span className="num text-12 text-red">{a.status_code}</span>}
              {a.error_kind && <span className="truncate font-mono text-12 text-red">{a.error_kind}</span>}
              <span className="num ml-auto text-12 whitespace-nowrap text-ink-2">
                {formatDuration(between(a.started_at, a.finished_at))}
              </span>
            </p>
            {a.error_message && <p className="text-12 break-words text-ink-2">{a.error_message}</p>}
            {a.reason && <p className="text-12 text-ink-3">Chosen: {a.reason}</p>}
          </div>
        </li>
      ))}
    </ol>
  );
}
