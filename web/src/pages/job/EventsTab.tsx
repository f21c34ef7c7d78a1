import { useState } from "react";
import { Button } from "@/components/Button";
import { JsonView } from "@/components/CodeView";
import { Id } from "@/components/Id";
import { StateText } from "@/components/StateGlyph";
import { ErrorPanel } from "@/components/States";
import type { Column } from "@/components/table/column";
import { DataTable } from "@/components/table/DataTable";
import { between, formatCount, formatDuration } from "@/format";
import type { JobEvent } from "./events";
import { hasEnded, type Job } from "./job";
import { useJobEvents } from "./useJobEvents";

const bound = 1_000;

function columnsFor(job: Job): readonly Column<JobEvent>[] {
  return [
    { id: "seq", header: "Number", width: "64px", align: "right", narrow: "side", cell: (e) => formatCount(e.seq) },
    {
      id: "time",
      header: "After",
      width: "84px",
      align: "right",
      narrow: "line",
      cell: (e) => `+${formatDuration(between(job.created_at, e.created_at))}`,
    },
    { id: "type", header: "Type", width: "120px", narrow: "lead", cell: (e) => <span className={typeLook(e.type)}>{e.type}</span> },
    { id: "item", header: "Item", width: "96px", narrow: "line", cell: (e) => e.item_id && <Id id={e.item_id} /> },
    {
      id: "data",
      header: "Data",
      width: "minmax(160px, 1fr)",
      cell: (e) => <span className="font-mono text-12 text-ink-2">{dataWords(e)}</span>,
    },
  ];
}

function typeLook(type: string): string {
  const hue = /failed|expired|reset/.test(type) ? "text-amber" : type === "item.delta" ? "text-ink-2" : "text-water";
  return `font-mono text-12 ${hue}`;
}

interface Words {
  text?: unknown;
  status?: unknown;
  custom_id?: unknown;
  error?: { code?: unknown; message?: unknown } | null;
  counts?: Job["counts"];
}

/** The data of an event in one line. */
function dataWords(event: JobEvent): string {
  const data = (event.data ?? {}) as Words;
  if (typeof data.text === "string") return JSON.stringify(data.text);
  if (event.type === "item.reset") return `run ${event.attempt ?? ""}: the output starts again`;
  if (data.error) return `${data.error.code}: ${data.error.message}`;
  if (data.counts)
    return `${data.status}: ${formatCount(data.counts.succeeded)} succeeded, ${formatCount(data.counts.failed)} failed of ${formatCount(data.counts.total)}`;
  return [data.status, data.custom_id].filter(Boolean).join(" ");
}

/** The events of a job, a thousand at a time; it follows a job that runs. */
export function EventsTab({ tenant, job }: { tenant: string; job: Job }) {
  const stream = useJobEvents(tenant, job.id, bound);
  const [open, setOpen] = useState<JobEvent | null>(null);
  if (stream.error) return <ErrorPanel error={stream.error} />;
  return (
    <div className="flex h-[max(420px,calc(100vh-440px))] flex-col">
      <div className="flex min-h-9 items-center gap-3 px-4 text-12 text-ink-3 md:px-6">
        {stream.state === "reading" && !hasEnded(job) && <StateText state="running" word="Following" />}
        {stream.state === "full" && (
          <>
            <span>The newest {formatCount(stream.events.length)} that were read are shown.</span>
            <Button small onClick={stream.more}>
              Read {formatCount(bound)} more
            </Button>
          </>
        )}
        {stream.state === "ended" && <span>The job has ended; no event follows.</span>}
      </div>
      <DataTable
        label="Events"
        columns={columnsFor(job)}
        rows={stream.events}
        idOf={(e) => e.id}
        loading={stream.state === "reading" && stream.events.length === 0}
        onOpen={setOpen}
        empty={<p className="p-6 text-ink-3">The job has no events; they were removed with its log.</p>}
      />
      {open && (
        <div className="border-t border-line p-4">
          <JsonView label="Event" value={open} maxHeight={200} />
        </div>
      )}
    </div>
  );
}
