import { Cost } from "@/components/Cost";
import { FactStrip, type StripFact } from "@/components/FactStrip";
import { TimeAgo } from "@/components/Time";
import { between, formatAmount, formatCount, formatDuration, formatPercent, threeFigures } from "@/format";
import { useNow } from "@/hooks/clock";
import { hasEnded, type Item, type Job } from "./job";

/** Six facts under the head: those of an inference, or those of a job with many items. */
export function JobFacts({ job, item }: { job: Job; item: Item | undefined }) {
  const now = useNow();
  const elapsed = hasEnded(job) ? between(job.created_at, job.finished_at) : Math.max(0, now - Date.parse(job.created_at));
  const facts = job.counts.total === 1 ? inferenceFacts(job, item, elapsed) : manyFacts(job, elapsed);
  return <FactStrip label="Facts" facts={facts} />;
}

function inferenceFacts(job: Job, item: Item | undefined, elapsed: number | null): StripFact[] {
  const last = item?.history.at(-1);
  const first = last ? between(last.started_at, last.first_token_at) : null;
  const writing = last ? between(last.first_token_at, last.finished_at) : null;
  const speed = writing && writing >= 100 ? `${threeFigures((job.usage.output_tokens * 1000) / writing)}/s` : undefined;
  return [
    { name: hasEnded(job) ? "Duration" : "Elapsed", value: formatDuration(elapsed) },
    {
      name: "First token",
      value: formatDuration(first),
      note: first !== null ? "of the last attempt" : hasEnded(job) ? "not known" : "not yet",
    },
    { name: "Output", value: formatAmount(job.usage.output_tokens), note: speed ? `tokens · ${speed}` : "tokens" },
    { name: "Input", value: formatAmount(job.usage.input_tokens), note: `${formatAmount(job.usage.cached_input_tokens)} cached` },
    { name: hasEnded(job) ? "Cost" : "Cost so far", value: <Cost usd={job.usage.cost_usd} what="settled" />, note: "settled" },
    { name: "Attempts", value: formatCount(item?.attempts ?? null), note: `of ${job.max_attempts} allowed` },
  ];
}

function manyFacts(job: Job, elapsed: number | null): StripFact[] {
  const { counts } = job;
  const done = counts.total - counts.queued - counts.running;
  const bad = counts.failed + counts.expired;
  return [
    { name: hasEnded(job) ? "Duration" : "Elapsed", value: formatDuration(elapsed) },
    { name: "Items ended", value: formatCount(done), note: `of ${formatCount(counts.total)}` },
    { name: "Failed or expired", value: formatCount(bad), note: done > 0 ? formatPercent(bad / done) : undefined },
    { name: "Output", value: formatAmount(job.usage.output_tokens), note: `tokens of ${formatAmount(job.usage.input_tokens)} in` },
    { name: hasEnded(job) ? "Cost" : "Cost so far", value: <Cost usd={job.usage.cost_usd} what="settled" />, note: "settled" },
    hasEnded(job)
      ? { name: "Finished", value: <TimeAgo iso={job.finished_at} suffix=" ago" /> }
      : { name: "Should finish in", value: finish(job) },
  ];
}

function finish(job: Job): string {
  return formatDuration(job.estimated_finish_at ? Math.max(0, Date.parse(job.estimated_finish_at) - Date.now()) : null);
}
