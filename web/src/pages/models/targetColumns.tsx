import { Meter } from "@/components/BatchBar";
import { ControlButton } from "@/components/control/ControlButton";
import { controlWord } from "@/components/control/control";
import { StateText } from "@/components/StateGlyph";
import { Tip } from "@/components/Tooltip";
import type { Column } from "@/components/table/column";
import { formatAmount, formatCount, formatDuration, formatPercent, formatRate, missing, plural } from "@/format";
import { type Target, targetHealth } from "./health";
import { TargetPauseEffect } from "./PauseEffects";
import { Prices, priceText } from "./Price";

/** The columns that every table of targets begins with. */
const identity: readonly Column<Target>[] = [
  {
    id: "name",
    header: "Target",
    width: "190px",
    narrow: "lead",
    cell: (t) => (
      <Tip text={`${t.upstream_model} of ${t.vendor}`}>
        <span className="font-medium">{t.name}</span>
      </Tip>
    ),
  },
  { id: "state", header: "State", width: "112px", narrow: "side", cell: (t) => <TargetStateText target={t} /> },
  { id: "provider", header: "Provider", width: "140px", narrow: "line", cell: (t) => [t.provider, t.region].filter(Boolean).join(" · ") },
];

const running: Column<Target> = { id: "running", header: "Running", width: "112px", narrow: "line", cell: (t) => <Running target={t} /> };

const recent: readonly Column<Target>[] = [
  { id: "rate", header: "Calls", width: "80px", align: "right", narrow: "line", cell: (t) => formatRate(t.calls_per_second) },
  { id: "p95", header: "p95", width: "72px", align: "right", narrow: "line", cell: (t) => <Latency target={t} /> },
  { id: "failed", header: "Failed", width: "80px", align: "right", cell: (t) => <Failed target={t} /> },
  {
    id: "refused",
    header: "Refusals",
    width: "80px",
    align: "right",
    cell: (t) => <span className={t.throttles > 0 ? "text-amber" : undefined}>{formatCount(t.throttles)}</span>,
  },
  { id: "limits", header: "Limits in use", width: "220px", cell: (t) => <Limits target={t} /> },
];

function action(all: readonly Target[]): Column<Target> {
  return {
    id: "act",
    header: "Actions",
    quiet: true,
    fixed: true,
    width: "96px",
    align: "right",
    narrow: "line",
    cell: (t) => (
      <ControlButton
        small
        subject={{ kind: "target", name: t.name }}
        control={t.control}
        effect={() => <TargetPauseEffect target={t} all={all} />}
      />
    ),
  };
}

/** The load of the targets: Queues & workers. */
export function loadColumns(all: readonly Target[], operates: boolean): Column<Target>[] {
  return [...identity, running, ...recent, ...(operates ? [action(all)] : [])];
}

/** What the targets are and cost: Models. */
export function targetColumns(all: readonly Target[], operates: boolean): Column<Target>[] {
  return [
    ...identity,
    {
      id: "upstream",
      header: "Upstream model",
      width: "180px",
      extra: true,
      cell: (t) => <span className="font-mono text-12">{t.upstream_model}</span>,
    },
    { id: "models", header: "Serves", width: "minmax(140px, 1fr)", cell: (t) => t.models.join(", ") || missing },
    { id: "price", header: "Input / cached / output", width: "160px", align: "right", narrow: "line", cell: prices },
    { id: "source", header: "Price from", width: "96px", cell: (t) => (t.price ? t.price_source : missing) },
    running,
    ...(operates ? [action(all)] : []),
  ];
}

function prices({ price }: Target) {
  return <Prices of={[priceText(price?.input), priceText(price?.cached_input), priceText(price?.output)]} />;
}

function TargetStateText({ target }: { target: Target }) {
  const health = targetHealth(target);
  return (
    <Tip text={target.control?.reason || health.why}>
      <span>
        <StateText state={health.state} word={target.control ? controlWord(target.control) : health.word} />
      </span>
    </Tip>
  );
}

/** Calls of all processes, and the bound of the process that answers. */
function Running({ target: t }: { target: Target }) {
  const share = t.permits > 0 ? t.running / t.permits : 0;
  const label = `${t.running} of ${t.permits} calls of this process; ${t.total_running} in all processes`;
  return (
    <Tip text={label}>
      <span className="flex items-center gap-2">
        <Meter share={share} label={label} className="w-12" />
        <span className="num whitespace-nowrap">
          {formatCount(t.total_running)} <span className="text-ink-3">/ {formatCount(t.permits)}</span>
        </span>
      </span>
    </Tip>
  );
}

function Latency({ target: { recent: r } }: { target: Target }) {
  return (
    <Tip text={`median ${formatDuration(r.p50_ms)}`}>
      <span>{formatDuration(r.p95_ms)}</span>
    </Tip>
  );
}

function Failed({ target: { recent: r } }: { target: Target }) {
  if (r.attempts === 0) return <span className="text-ink-3">{missing}</span>;
  const share = r.failed / r.attempts;
  return (
    <Tip text={`${formatCount(r.failed)} of ${plural(r.attempts, "attempt")} in 15 minutes`}>
      <span className={share >= 0.05 ? "text-red" : share >= 0.01 ? "text-amber" : undefined}>{formatPercent(share)}</span>
    </Tip>
  );
}

const perMinute: Record<string, string> = { requests: "RPM", tokens: "TPM" };

/** Each limit per minute with its use. A learned limit comes from the headers of the upstream. */
function Limits({ target: t }: { target: Target }) {
  if (t.limits.length === 0) return <span className="text-ink-3">{missing}</span>;
  return (
    <span className="flex flex-col gap-0.5">
      {t.limits.map((l) => {
        const label = `${formatCount(l.used)} of ${formatCount(l.per_minute)} ${l.resource} per minute${l.learned ? ", learned from the upstream" : ""}`;
        return (
          <Tip key={l.resource} text={label}>
            <span className="flex items-center gap-2">
              <Meter share={l.per_minute > 0 ? l.used / l.per_minute : 0} label={label} className="w-12" />
              <span className="num whitespace-nowrap text-12">
                {formatAmount(l.used)}{" "}
                <span className="text-ink-3">
                  / {formatAmount(l.per_minute)} {perMinute[l.resource] ?? `${l.resource}/min`}
                </span>
              </span>
            </span>
          </Tip>
        );
      })}
    </span>
  );
}
