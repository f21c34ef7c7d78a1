import { Loader2 } from "lucide-react";
import type { ReactNode } from "react";
import type { Schemas } from "@/api";
import { Cost } from "@/components/Cost";
import { formatAmount, formatDuration, missing } from "@/format";

/** What the server expects of a job before it is submitted: cost, tokens, target and time, or why it would refuse it. */
export function DryRun({ trial, busy, asked }: { trial: Schemas["Trial"] | undefined; busy: boolean; asked: boolean }) {
  return (
    <section aria-label="Dry run" aria-live="polite" className="rounded-card border border-line bg-sunken px-4 py-3">
      <div className="mb-1 flex items-center gap-2">
        <h3 className="text-13 font-semibold">Dry run</h3>
        <span className="text-12 text-ink-3">by the server; nothing is stored or spent</span>
        {busy && <Loader2 aria-hidden className="ml-auto size-4 animate-turn text-ink-3" strokeWidth={1.75} />}
      </div>
      {!trial || !asked ? (
        <p className="text-ink-3">Write a prompt to see its cost.</p>
      ) : (
        <>
          <dl className="grid grid-cols-2 gap-x-6 gap-y-1 md:grid-cols-4">
            <Figure name="Estimated cost">
              <Cost usd={trial.estimate.cost_usd} />
            </Figure>
            <Figure name="At most">
              <Cost usd={trial.at_most.cost_usd} />
            </Figure>
            <Figure name="Tokens in, out">
              {formatAmount(trial.estimate.input_tokens)}, about {formatAmount(trial.estimate.output_tokens)}
            </Figure>
            <Figure name="Target now">{trial.target ?? missing}</Figure>
          </dl>
          {trial.estimated_finish_at && (
            <p className="mt-2 text-12 text-ink-3">
              Should finish {soon(trial.estimated_finish_at)}; the deadline is in {formatDuration(Date.parse(trial.deadline) - Date.now())}.
            </p>
          )}
          {trial.refusal && <p className="mt-2 text-red">It would be refused: {trial.refusal.message}</p>}
          {trial.waiting_on && <p className="mt-2 text-amber">It would wait: {trial.waiting_on}.</p>}
          {trial.warnings.map((w) => (
            <p key={w} className="mt-2 text-amber">
              {w}
            </p>
          ))}
        </>
      )}
    </section>
  );
}

function soon(iso: string): string {
  const ms = Date.parse(iso) - Date.now();
  return ms < 1000 ? "at once" : `in about ${formatDuration(ms)}`;
}

function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-12 text-ink-3">{name}</dt>
      <dd className="truncate font-medium">{children}</dd>
    </div>
  );
}
