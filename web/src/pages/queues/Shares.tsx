import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { LaneBars } from "@/components/LaneBars";
import { Segments } from "@/components/Tabs";
import { Tip } from "@/components/Tooltip";
import type { Column } from "@/components/table/column";
import { PlainTable } from "@/components/table/PlainTable";
import { formatCount, formatPercent, formatRate, missing } from "@/format";
import { activeTenants, emptyIn, type LaneQueue, oldest, type Share, waiting } from "./load";
import type { LaneName } from "./route";

const most = 12;

const columns: readonly Column<Share>[] = [
  {
    id: "tenant",
    header: "Tenant",
    width: "240px",
    narrow: "lead",
    cell: (t) => (
      <Link to="/t/$tenant/queues" params={{ tenant: t.tenant }} className="font-medium hover:text-accent hover:underline">
        {t.tenant}
      </Link>
    ),
  },
  { id: "weight", header: "Weight", width: "64px", align: "right", narrow: "line", cell: (t) => t.weight },
  { id: "share", header: "Share of the lane", width: "280px", narrow: "side", cell: (t) => <ShareBar of={t} /> },
  {
    id: "fair",
    header: "Fair share",
    width: "80px",
    align: "right",
    cell: (t) => (t.fair_share > 0 ? formatPercent(t.fair_share) : missing),
  },
  { id: "waiting", header: "Waiting", width: "80px", align: "right", narrow: "line", cell: (t) => formatCount(waiting(t)) },
  { id: "running", header: "Running", width: "80px", align: "right", narrow: "line", cell: (t) => formatCount(t.running) },
  { id: "oldest", header: "Oldest", width: "88px", align: "right", narrow: "line", cell: oldest },
  { id: "rate", header: "Starting", width: "88px", align: "right", cell: (t) => formatRate(t.items_per_second) },
  { id: "empty", header: "Empty in", width: "96px", align: "right", cell: emptyIn },
];

/** The part of the lane that a tenant gets, with a mark at the part that its weight gives it. */
function ShareBar({ of: t }: { of: Share }) {
  const label = `${formatPercent(t.share)} of the lane${t.fair_share > 0 ? `, fair share ${formatPercent(t.fair_share)}` : ""}`;
  return (
    <Tip text={label}>
      <span className="flex items-center gap-2">
        <span role="img" aria-label={label} className="relative block h-1.5 w-24 rounded-full bg-line lg:w-40">
          <span className="absolute inset-y-0 left-0 rounded-full bg-water-solid" style={{ width: `${Math.min(100, 100 * t.share)}%` }} />
          {t.fair_share > 0 && (
            <span className="absolute -inset-y-1 w-0.5 bg-ink-2" style={{ left: `calc(${Math.min(100, 100 * t.fair_share)}% - 1px)` }} />
          )}
        </span>
        <span className="num w-10 text-right">{formatPercent(t.share)}</span>
      </span>
    </Tip>
  );
}

export interface SharesProps {
  lanes: readonly LaneQueue[];
  lane: LaneName;
  onLane: (lane: LaneName) => void;
}

/** The tenants of one lane, deepest first. */
export function Shares({ lanes, lane, onLane }: SharesProps) {
  const [all, setAll] = useState(false);
  const chosen = lanes.find((l) => l.name === lane);
  const tenants = chosen ? activeTenants(chosen) : [];
  const shown = all ? tenants : tenants.slice(0, most);
  return (
    <Card
      title="Tenants"
      note="the mark on a bar is the share that the weight gives"
      aside={
        <Segments
          label="Lane"
          value={lane}
          onChange={onLane}
          tabs={lanes.map((l) => ({
            value: l.name as LaneName,
            label: l.name,
            icon: <LaneBars lane={l.name} showName={false} />,
            count: activeTenants(l).length || undefined,
          }))}
        />
      }
    >
      {shown.length === 0 ? (
        <p className="px-3.5 py-6 text-center text-ink-3">No tenant has work in the lane {lane}.</p>
      ) : (
        <PlainTable label={`Tenants of the lane ${lane}`} columns={columns} rows={shown} idOf={(t) => t.tenant} />
      )}
      {tenants.length > shown.length && (
        <div className="border-t border-line px-3.5 py-2">
          <Button small look="ghost" onClick={() => setAll(true)}>
            Show all {formatCount(tenants.length)} tenants
          </Button>
        </div>
      )}
      {chosen && chosen.left_out > 0 && all && (
        <p className="border-t border-line px-3.5 py-2 text-12 text-ink-3">{formatCount(chosen.left_out)} more tenants are not listed.</p>
      )}
    </Card>
  );
}
