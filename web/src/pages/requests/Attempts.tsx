import { Chip } from "@/components/Chip";
import { Cost } from "@/components/Cost";
import { LinkedText } from "@/components/LinkedText";
import { StateGlyph } from "@/components/StateGlyph";
import { between, formatAmount, formatDuration } from "@/format";
import { type Attempt, attemptState } from "./attempt";

/** The attempts in order: the target, why it was chosen, and its error. */
export function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
  if (attempts.length === 0) return <p className="text-ink-3">No target was tried.</p>;
  return (
    <ol className="flex flex-col gap-3">
      {attempts.map((a) => (
        <li key={a.id} className="flex min-w-0 gap-2">
          <span className="flex h-5 items-center">
            <StateGlyph state={attemptState(a)} alone />
          </span>
          <div className="min-w-0 flex-1">
            <div className="flex min-w-0 flex-wrap items-center gap-x-2">
              <span className="font-medium">
                {a.number}. {a.target ?? "No target"}
              </span>
              {a.status_code !== null && <span className="num text-12 text-ink-3">{a.status_code}</span>}
              <span className="num ml-auto text-12 text-ink-2">{formatDuration(between(a.started_at, a.finished_at))}</span>
            </div>
            {a.reason && (
              <p className="text-12/5 text-ink-2">
                Chosen: <LinkedText text={a.reason} />
              </p>
            )}
            {a.error_kind && <AttemptError attempt={a} />}
            <p className="num text-12/5 text-ink-3">
              {formatAmount(a.usage.input_tokens)} in, {formatAmount(a.usage.output_tokens)} out, <Cost usd={a.usage.cost_usd} />
              {a.first_token_at && `, first token after ${formatDuration(between(a.started_at, a.first_token_at))}`}
              {!a.usage_known && a.error_kind === null && " (estimated)"}
            </p>
          </div>
        </li>
      ))}
    </ol>
  );
}

function AttemptError({ attempt }: { attempt: Attempt }) {
  const cancelled = attemptState(attempt) === "cancelled";
  return (
    <p className="flex flex-wrap items-baseline gap-x-2 text-12/5">
      <Chip mono hue={cancelled ? "slate" : "red"}>
        {attempt.error_kind}
      </Chip>
      {attempt.error_message && <span className="min-w-0 break-words text-ink-2">{attempt.error_message}</span>}
    </p>
  );
}
