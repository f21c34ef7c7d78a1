import { Link } from "@tanstack/react-router";
import { Chip } from "@/components/Chip";
import { Cost } from "@/components/Cost";
import { Id } from "@/components/Id";
import { type Fact, KeyValue, PaneSection } from "@/components/KeyValue";
import { LaneBars } from "@/components/LaneBars";
import { Time } from "@/components/Time";
import { between, formatAmount, formatDuration } from "@/format";
import { hasEnded, type Job, submitter, waitText } from "./job";

/** The facts of a job in the right pane: of its page, and of a peek in the list. */
export function JobPane({ job, tenant }: { job: Job; tenant: string }) {
  const wait = waitText(job);
  return (
    <>
      {wait && (
        <PaneSection title="Why it waits">
          <p className="text-13 text-ink-2">{wait}</p>
          {job.estimated_start_at && (
            <p className="mt-1 text-12 text-ink-3">
              Its first item should start by <Time iso={job.estimated_start_at} />.
            </p>
          )}
        </PaneSection>
      )}
      {job.error && (
        <PaneSection title="Error">
          <p className="font-mono text-12 text-red">{job.error.code}</p>
          <p className="text-13 break-words text-ink-2">{job.error.message}</p>
        </PaneSection>
      )}
      <PaneSection title="Resolved at admission">
        <KeyValue facts={resolvedFacts(job, tenant)} />
      </PaneSection>
      <CostSection job={job} />
      <PaneSection title="Timing">
        <KeyValue facts={timingFacts(job)} />
      </PaneSection>
      <TagSection job={job} tenant={tenant} />
    </>
  );
}

function resolvedFacts(job: Job, tenant: string): Fact[] {
  const { resolved } = job;
  const by = submitter(job);
  const facts: Fact[] = [
    { name: "Model", value: job.model, copy: job.model },
    { name: "Targets", value: <Names names={resolved.targets} /> },
  ];
  if (resolved.unpaid?.length) facts.push({ name: "Unpaid", value: <Names names={resolved.unpaid} /> });
  if (resolved.prompt) facts.push({ name: "Prompt", value: resolved.prompt, copy: resolved.prompt });
  if (resolved.arm) facts.push({ name: "Arm", value: <Chip hue="violet">{resolved.arm}</Chip> });
  facts.push(
    { name: "Config", value: <span className="font-mono text-12">{resolved.config}</span>, copy: resolved.config },
    { name: "Endpoint", value: <span className="font-mono text-12">{job.endpoint}</span> },
    { name: "Lane", value: <LaneBars lane={job.lane} /> },
    { name: by?.kind === "person" ? "Person" : "Key", value: by?.name ?? null, copy: by?.name },
    { name: "Attempts", value: `${job.max_attempts} at most` },
    { name: "Deadline", value: <Time iso={job.deadline} /> },
  );
  if (job.input_file) facts.push({ name: "Input file", value: <Id id={job.input_file} />, copy: job.input_file });
  if (job.retry_of) {
    facts.push({
      name: "Retry of",
      value: (
        <Link to="/t/$tenant/jobs/$job" params={{ tenant, job: job.retry_of }} className="text-accent hover:underline">
          <Id id={job.retry_of} />
        </Link>
      ),
    });
  }
  return facts;
}

function Names({ names }: { names: readonly string[] }) {
  return (
    <span className="flex flex-col whitespace-normal">
      {names.map((name) => (
        <span key={name} className="truncate">
          {name}
        </span>
      ))}
    </span>
  );
}

function CostSection({ job }: { job: Job }) {
  const { usage } = job;
  const rows = [
    { name: "Input", tokens: usage.input_tokens },
    { name: "of it cached", tokens: usage.cached_input_tokens },
    { name: "Output", tokens: usage.output_tokens },
    { name: "of it reasoning", tokens: usage.reasoning_tokens ?? 0 },
  ].filter((r) => r.tokens > 0 || r.name === "Input" || r.name === "Output");
  return (
    <PaneSection title="Cost" aside={hasEnded(job) ? "settled" : "settled so far"}>
      <dl className="flex flex-col">
        {rows.map((r) => (
          <div key={r.name} className="flex min-h-7 items-center justify-between">
            <dt className="text-12 text-ink-3">{r.name}</dt>
            <dd className="num">{formatAmount(r.tokens)} tokens</dd>
          </div>
        ))}
        <div className="mt-1 flex min-h-8 items-center justify-between border-t border-line font-medium">
          <dt>{hasEnded(job) ? "Total" : "Total so far"}</dt>
          <dd>
            <Cost usd={usage.cost_usd} what="settled" />
          </dd>
        </div>
      </dl>
    </PaneSection>
  );
}

function timingFacts(job: Job): Fact[] {
  const facts: Fact[] = [
    { name: "Created", value: <Time iso={job.created_at} />, copy: job.created_at },
    { name: "Waited", value: formatDuration(between(job.created_at, job.started_at)) },
    { name: "Started", value: <Time iso={job.started_at} /> },
    { name: "Finished", value: <Time iso={job.finished_at} /> },
  ];
  if (job.cancel_requested_at) facts.push({ name: "Cancelled", value: <Time iso={job.cancel_requested_at} /> });
  if (job.estimated_finish_at) facts.push({ name: "Should finish", value: <Time iso={job.estimated_finish_at} /> });
  if (job.results_expire_at) facts.push({ name: "Deleted on", value: <Time iso={job.results_expire_at} /> });
  return facts;
}

function TagSection({ job, tenant }: { job: Job; tenant: string }) {
  const tags = Object.entries(job.tags);
  if (tags.length === 0) return null;
  return (
    <PaneSection title="Tags">
      <ul className="flex flex-wrap gap-1.5 pt-1">
        {tags.map(([name, value]) => (
          <li key={name} className="max-w-full">
            <Link to="/t/$tenant/jobs" params={{ tenant }} search={{ tag: `${name}:${value}` }} className="flex min-h-6 items-center">
              <Chip>
                <span className="truncate">
                  {name}={value}
                </span>
              </Chip>
            </Link>
          </li>
        ))}
      </ul>
    </PaneSection>
  );
}
