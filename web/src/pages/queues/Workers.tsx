import { useState } from "react";
import { Meter } from "@/components/BatchBar";
import { Card } from "@/components/Card";
import { Chip } from "@/components/Chip";
import { StateText } from "@/components/StateGlyph";
import { Command } from "@/components/States";
import { TimeAgo } from "@/components/Time";
import type { Column } from "@/components/table/column";
import { PlainTable } from "@/components/table/PlainTable";
import { formatCount, missing, plural } from "@/format";
import { type RunningProcess, type Seen, slotCount, withGone } from "./load";

const startCommand = "penstock serve --config penstock.yaml --role worker";

const columns: readonly Column<Seen>[] = [
  {
    id: "name",
    header: "Process",
    width: "260px",
    narrow: "lead",
    cell: (p) => (
      <span className="inline-flex min-w-0 items-center gap-2">
        <span className="truncate font-mono text-12">{p.name}</span>
        {p.self && <Chip>answers this page</Chip>}
      </span>
    ),
  },
  { id: "state", header: "State", width: "150px", narrow: "side", cell: (p) => <WorkerState process={p} /> },
  { id: "role", header: "Role", width: "72px", narrow: "line", cell: (p) => p.role || missing },
  { id: "version", header: "Version", width: "120px", narrow: "line", cell: (p) => p.version || missing },
  { id: "slots", header: "Slots in use", width: "200px", narrow: "line", cell: (p) => <Slots process={p} /> },
  { id: "calls", header: "Open calls", width: "88px", align: "right", cell: (p) => (p.gone ? missing : formatCount(p.calls)) },
  { id: "heartbeat", header: "Heartbeat", width: "96px", align: "right", narrow: "line", cell: (p) => <Heartbeat process={p} /> },
  { id: "started", header: "Up for", width: "80px", align: "right", cell: (p) => (p.gone ? missing : <TimeAgo iso={p.started_at} />) },
];

function WorkerState({ process: p }: { process: Seen }) {
  if (p.gone) return <StateText state="down" word="Gone" />;
  if (p.silent) return <StateText state="degraded" word="Silent" />;
  if (p.draining) return <StateText state="paused" word="Draining" />;
  return <StateText state="healthy" word={p.works ? "Works" : "Serves only"} />;
}

function Slots({ process: p }: { process: Seen }) {
  if (!p.works || p.gone) return <span className="text-ink-3">{missing}</span>;
  const share = p.slots > 0 ? p.in_use / p.slots : 0;
  return (
    <span className="flex items-center gap-2">
      <Meter share={share} warnAt={2} label={`${p.in_use} of ${p.slots} slots in use`} className="w-20" />
      <span className="num">
        {formatCount(p.in_use)} <span className="text-ink-3">/ {formatCount(p.slots)}</span>
      </span>
    </span>
  );
}

function Heartbeat({ process: p }: { process: Seen }) {
  if (p.silent || p.gone) {
    return (
      <span className="text-amber">
        last seen <TimeAgo iso={p.heartbeat_at} suffix=" ago" />
      </span>
    );
  }
  return <TimeAgo iso={p.heartbeat_at} suffix=" ago" />;
}

/** The open calls of a process by target, and the targets that it may not call. */
function calls(p: Seen) {
  const open = Object.entries(p.calls_by_target).sort(([, a], [, b]) => b - a);
  if (p.gone || (open.length === 0 && p.blocked.length === 0)) return null;
  return (
    <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
      {open.length > 0 && (
        <span className="flex flex-wrap items-center gap-1">
          <span className="text-ink-3">Calls</span>
          {open.map(([target, n]) => (
            <Chip key={target} hue="water">
              {target} <span className="num">{formatCount(n)}</span>
            </Chip>
          ))}
        </span>
      )}
      {p.blocked.length > 0 && (
        <span className="flex flex-wrap items-center gap-1">
          <span className="text-ink-3">May not call now</span>
          {p.blocked.map((target) => (
            <Chip key={target} hue="amber">
              {target}
            </Chip>
          ))}
        </span>
      )}
    </span>
  );
}

/** Keeps the processes that vanished while the page is open, so that a dead worker does not just disappear. */
function useSeen(now: readonly RunningProcess[]): Seen[] {
  const [state, setState] = useState<{ now: readonly RunningProcess[]; seen: Seen[] }>(() => ({ now, seen: withGone([], now) }));
  if (state.now === now) return state.seen;
  const seen = withGone(state.seen, now);
  setState({ now, seen });
  return seen;
}

export interface WorkersProps {
  processes: readonly RunningProcess[];
  /** The slots and the workers that the queue needs. */
  needed: { slots: number; workers: number } | undefined;
}

export function Workers({ processes, needed }: WorkersProps) {
  const seen = useSeen(processes);
  const have = slotCount(processes);
  const short = needed !== undefined && needed.slots > have.slots;
  return (
    <Card
      title="Workers"
      note={`${formatCount(have.inUse)} of ${plural(have.slots, "slot")} in use`}
      aside={
        short && (
          <span className="text-12 text-amber max-md:hidden">
            The queue could use {plural(needed.slots, "slot")}: {plural(needed.workers, "worker")} of this size
          </span>
        )
      }
    >
      {have.workers === 0 && (
        <div className="flex flex-col gap-2 border-b border-line bg-amber-tint px-3.5 py-3">
          <p className="font-medium text-amber">No worker runs: queued items wait. Start one with the same configuration:</p>
          <Command text={startCommand} />
        </div>
      )}
      <PlainTable label="Workers" columns={columns} rows={seen} idOf={(p) => p.name} under={calls} />
      <p className="border-t border-line bg-sunken px-3.5 py-2 text-12 text-ink-3">
        To drain a worker, stop its process with SIGTERM (Ctrl+C, <code className="font-mono">systemctl stop</code>, or a smaller
        Deployment). It claims nothing more, finishes its calls, and returns the rest to the queue.
      </p>
    </Card>
  );
}
