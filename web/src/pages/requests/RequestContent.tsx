import { AlertTriangle, Hourglass, LogIn } from "lucide-react";
import { JsonView } from "@/components/CodeView";
import { StateGlyph } from "@/components/StateGlyph";
import { Timeline } from "@/components/Timeline";
import { Attempts } from "./Attempts";
import { attemptState } from "./attempt";
import type { RequestRecord } from "./RequestPage";
import { timelineOf } from "./timeline";

/** Timeline, attempts and the record as JSON. */
export function RequestContent({ request }: { request: RequestRecord }) {
  return (
    <div className="flex flex-col">
      {request.error && <CallError error={request.error} status={request.status_code} />}
      <Section title="Timeline">
        <RequestTimeline request={request} />
      </Section>
      <Section title="Attempts">
        <Attempts attempts={request.history} />
      </Section>
      <Section title="Record" note="Bodies of synchronous calls are not stored.">
        <JsonView label="Record as JSON" value={request} maxHeight={420} />
      </Section>
    </div>
  );
}

function Section({ title, note, children }: { title: string; note?: string; children: React.ReactNode }) {
  return (
    <section className="border-b border-line px-4 py-3.5 last:border-b-0 md:px-6">
      <div className="mb-2 flex flex-wrap items-baseline gap-x-3">
        <h2 className="text-13 font-semibold">{title}</h2>
        {note && <span className="text-12 text-ink-3">{note}</span>}
      </div>
      {children}
    </section>
  );
}

function CallError({ error, status }: { error: { code: string; message: string }; status: number }) {
  return (
    <div className="flex items-start gap-2.5 border-b border-red-line bg-red-tint px-4 py-2.5 md:px-6">
      <AlertTriangle aria-hidden className="mt-0.5 size-4 shrink-0 text-red" strokeWidth={1.75} />
      <p className="min-w-0 break-words text-red">
        <span className="font-mono text-12 font-medium">
          {status} {error.code}
        </span>{" "}
        {error.message}
      </p>
    </div>
  );
}

function RequestTimeline({ request }: { request: RequestRecord }) {
  const { rows, total } = timelineOf(request);
  if (rows.length === 0) return <p className="text-ink-3">The call ended before a target was tried.</p>;
  const icons = rows.map((row) => {
    if (row.id === "admit") return <LogIn key={row.id} aria-hidden className="size-4" strokeWidth={1.75} />;
    const attempt = request.history.find((a) => a.id === row.id);
    if (!attempt) return <Hourglass key={row.id} aria-hidden className="size-4" strokeWidth={1.75} />;
    return <StateGlyph key={row.id} state={attemptState(attempt)} alone />;
  });
  return <Timeline rows={rows.map((row, i) => ({ ...row, icon: icons[i] }))} total={total} />;
}
