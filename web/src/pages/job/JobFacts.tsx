import type { ReactNode } from "react";
import { Cost } from "@/components/Cost";
import { TimeAgo } from "@/components/Time";
import { between, formatAmount, formatCount, formatDuration, formatPercent, threeFigures } from "@/format";
import { useNow } from "@/hooks/clock";
import { hasEnded, type Item, type Job } from "./job";

interface Fact {
  label: string;
  value: ReactNode;
  note?: ReactNode;
}

/** Six facts under the head: those of an inference, or those of a job with many items. */
export function JobFacts({ job, item }: { job: Job; item: Item | undefined }) {
  const now = useNow();
  const elapsed = hasEnded(job) ? between(job.created_at, job.finished_at) : Math.max(0, now - Date.parse(job.created_at));
  const facts = job.counts.total === 1 ? inferenceFacts(job, item, elapsed) : manyFacts(job, elapsed);
  return (
    <dl aria-label="Facts" className="grid grid-cols-2 gap-px border-t border-line bg-line md:grid-cols-3 xl:grid-cols-6">
      {facts.map((f) => (
        <div key={f.label} className="min-w-0 bg-surface px-4 py-2.5 md:px-6">
          <dt className="truncate text-12 text-ink-3">{f.label}</dt>
          <dd className="num truncate">
            <span className="text-16 font-semibold">{f.value}</span> <span className="text-12 text-ink-3">{f.note}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function inferenceFacts(job: Job, item: Item | undefined, elapsed: number | null): Fact[] {
  const last = item?.history.at(-1);
  const first = last ? between(last.started_at, last.first_token_at) : null;
  const writing = last ? between(last.first_token_at, last.finished_at) : null;
  const speed = writing && writing > 0 ? `${threeFigures((job.usage.output_tokens * 1000) / writing)}/s` : undefined;
  return [
    { label: hasEnded(job) ? "Duration" : "Elapsed", value: formatDuration(elapsed) },
    { label: "First token", value: formatDuration(first), note: first === null ? "not streamed" : "of the last attempt" },
    { label: "Output", value: formatAmount(job.usage.output_tokens), note: speed ? `tokens · ${speed}` : "tokens" },
    { label: "Input", value: formatAmount(job.usage.input_tokens), note: `${formatAmount(job.usage.cached_input_tokens)} cached` },
    { label: hasEnded(job) ? "Cost" : "Cost so far", value: <Cost usd={job.usage.cost_usd} what="settled" />, note: "settled" },
    { label: "Attempts", value: formatCount(item?.attempts ?? null), note: `of ${job.max_attempts} allowed` },
  ];
}

function manyFacts(job: Job, elapsed: number | null): Fact[] {
  const { counts } = job;
  const done = counts.total - counts.queued - counts.running;
  const bad = counts.failed + counts.expired;
  return [
    { label: hasEnded(job) ? "Duration" : "Elapsed", value: formatDuration(elapsed) },
    { label: "Items ended", value: formatCount(done), note: `of ${formatCount(counts.total)}` },
    { label: "Failed or expired", value: formatCount(bad), note: done > 0 ? formatPercent(bad / done) : undefined },
    { label: "Output", value: formatAmount(job.usage.output_tokens), note: `tokens of ${formatAmount(job.usage.input_tokens)} in` },
    { label: hasEnded(job) ? "Cost" : "Cost so far", value: <Cost usd={job.usage.cost_usd} what="settled" />, note: "settled" },
    hasEnded(job)
      ? { label: "Finished", value: <TimeAgo iso={job.finished_at} suffix=" ago" /> }
      : { label: "Should finish in", value: finish(job) },
  ];
}

function finish(job: Job): string {
  return formatDuration(job.estimated_finish_at ? Math.max(0, Date.parse(job.estimated_finish_at) - Date.now()) : null);
}
