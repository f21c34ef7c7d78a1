import { Meter } from "@/components/BatchBar";
import { Chip, type Hue } from "@/components/Chip";
import { Cost } from "@/components/Cost";
import { cn } from "@/components/cn";
import { type State, StateGlyph } from "@/components/StateGlyph";
import { Tip } from "@/components/Tooltip";
import { formatDuration, formatPercent, missing, threeFigures } from "@/format";
import { type Explain, type ExplainTarget, inOrder, reasonText, type Verdict, verdictOf } from "./explain";

const looks: Record<Verdict["kind"], { state: State; word: string; hue: Hue }> = {
  chosen: { state: "succeeded", word: "Chosen", hue: "green" },
  next: { state: "queued", word: "In reserve", hue: "slate" },
  busy: { state: "degraded", word: "Skipped now", hue: "amber" },
  excluded: { state: "cancelled", word: "Excluded", hue: "slate" },
};

/** The chosen target and why, then each target in the order in which it would be tried. */
export function ExplainResult({ explain }: { explain: Explain }) {
  return (
    <div aria-live="polite">
      <div
        className={cn(
          "flex gap-3 border-b px-3.5 py-3",
          explain.chosen ? "border-green-line bg-green-tint" : "border-red-line bg-red-tint",
        )}
      >
        <StateGlyph state={explain.chosen ? "succeeded" : "failed"} className="mt-[3px]" />
        <div className="min-w-0">
          <p className="font-semibold break-words">{explain.chosen ? `${explain.chosen} would be called` : "No target would be called"}</p>
          <p className="break-words text-ink-2">{reasonText(explain.reason)}</p>
        </div>
      </div>
      <ol>
        {inOrder(explain.targets).map((t) => (
          <TargetVerdict key={t.target} target={t} explain={explain} />
        ))}
      </ol>
    </div>
  );
}

function TargetVerdict({ target: t, explain }: { target: ExplainTarget; explain: Explain }) {
  const verdict = verdictOf(t, explain);
  const look = looks[verdict.kind];
  return (
    <li aria-label={t.target} className="border-b border-line px-3.5 py-2.5 last:border-b-0">
      <div className="flex flex-wrap items-center gap-2">
        <span className="num w-4 text-12 text-ink-3">{t.excluded ? missing : t.place}</span>
        <StateGlyph state={look.state} />
        <span className="font-medium">{t.target}</span>
        <Chip hue={look.hue}>{look.word}</Chip>
      </div>
      <p className="mt-0.5 pl-6 break-words text-ink-2">{verdict.text}</p>
      {t.cost_usd !== null && (
        <dl className="mt-1 flex flex-wrap items-center gap-x-4 gap-y-1 pl-6 text-12">
          <Fact name="Cost of such a call" value={<Cost usd={t.cost_usd} />} />
          <Fact name="Latency" value={formatDuration(t.latency_ms)} />
          <Fact name="Headroom" value={t.headroom === null ? missing : formatPercent(t.headroom)} />
        </dl>
      )}
      {t.score && <Score score={t.score} />}
    </li>
  );
}

function Fact({ name, value }: { name: string; value: React.ReactNode }) {
  return (
    <div className="flex items-center gap-1.5">
      <dt className="text-ink-3">{name}</dt>
      <dd className="num">{value}</dd>
    </div>
  );
}

/** The score from 0 to 1, and its parts. */
function Score({ score }: { score: NonNullable<ExplainTarget["score"]> }) {
  const parts = ["cost", "latency", "quality", "headroom"] as const;
  const words = parts.map((p) => `${p} ${threeFigures(score[p])}`).join(", ");
  return (
    <Tip text={words}>
      <div className="mt-1 flex items-center gap-2 pl-6 text-12 text-ink-2">
        <span className="text-ink-3">Score</span>
        <Meter share={score.total} warnAt={2} label={`Score ${threeFigures(score.total)}: ${words}`} className="w-24" />
        <span className="num">{threeFigures(score.total)}</span>
        <span className="num text-ink-3">{words}</span>
      </div>
    </Tip>
  );
}
