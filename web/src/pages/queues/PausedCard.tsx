import { Card } from "@/components/Card";
import { Chip } from "@/components/Chip";
import { ControlButton } from "@/components/control/ControlButton";
import { type Control, controlWord } from "@/components/control/control";
import { StateText } from "@/components/StateGlyph";
import { Time, TimeAgo } from "@/components/Time";
import type { Column } from "@/components/table/column";
import { PlainTable } from "@/components/table/PlainTable";
import { formatCount, missing } from "@/format";

const columns: readonly Column<Control>[] = [
  {
    id: "what",
    header: "What",
    width: "260px",
    narrow: "lead",
    cell: (c) => (
      <span className="inline-flex items-center gap-2">
        <Chip>{c.kind}</Chip>
        <span className="font-medium">{c.name}</span>
      </span>
    ),
  },
  { id: "state", header: "State", width: "180px", narrow: "side", cell: (c) => <StateText state="paused" word={controlWord(c)} /> },
  {
    id: "running",
    header: "Still running",
    width: "100px",
    align: "right",
    cell: (c) => (c.running === null ? missing : formatCount(c.running)),
  },
  {
    id: "since",
    header: "Since",
    width: "220px",
    narrow: "line",
    cell: (c) => (
      <span className="whitespace-nowrap">
        <Time iso={c.since} />{" "}
        <span className="text-ink-3">
          (<TimeAgo iso={c.since} />)
        </span>
      </span>
    ),
  },
  { id: "actor", header: "By", width: "180px", narrow: "line", cell: (c) => c.actor || missing },
  {
    id: "reason",
    header: "Reason",
    width: "320px",
    narrow: "line",
    cell: (c) => c.reason || <span className="text-ink-3">{missing}</span>,
  },
  {
    id: "act",
    header: "Actions",
    quiet: true,
    width: "110px",
    align: "right",
    narrow: "line",
    cell: (c) => <ControlButton small subject={{ kind: c.kind, name: c.name }} control={c} effect={() => null} />,
  },
];

/** Everything that an operator paused or drains. It shows only where there is something. */
export function PausedCard({ controls }: { controls: readonly Control[] }) {
  if (controls.length === 0) return null;
  return (
    <Card title="Paused or draining" note={formatCount(controls.length)} className="border-amber-line">
      <PlainTable label="Paused or draining" columns={columns} rows={controls} idOf={(c) => `${c.kind}/${c.name}`} />
    </Card>
  );
}
