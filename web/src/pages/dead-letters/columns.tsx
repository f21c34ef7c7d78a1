import { TimeAgo } from "@/components/Time";
import type { Column } from "@/components/table/column";
import { formatCount, missing } from "@/format";
import type { Group } from "./replay";

export function countText(group: Pick<Group, "count" | "at_least">): string {
  return `${formatCount(group.count)}${group.at_least ? "+" : ""}`;
}

export const groupColumns: readonly Column<Group>[] = [
  {
    id: "error",
    header: "Error",
    width: "minmax(200px, 1fr)",
    narrow: "lead",
    cell: (g) => (
      <span className="flex min-w-0 flex-col">
        <span className="truncate font-mono text-12/5 text-red">{g.code}</span>
        <span className="truncate text-12 text-ink-2">{g.sample.message}</span>
      </span>
    ),
  },
  {
    id: "model",
    header: "Model and target",
    width: "minmax(120px, 184px)",
    narrow: "hide",
    cell: (g) => (
      <span className="flex min-w-0 flex-col">
        <span className="truncate">{g.model ?? "Several models"}</span>
        <span className="truncate text-12 text-ink-3">{g.sample.target ?? "No target"}</span>
      </span>
    ),
  },
  {
    id: "first",
    header: "First",
    width: "48px",
    align: "right",
    narrow: "hide",
    cell: (g) => <TimeAgo iso={g.first_at} />,
  },
  { id: "last", header: "Last", width: "48px", align: "right", narrow: "hide", cell: (g) => <TimeAgo iso={g.last_at} /> },
  {
    id: "count",
    header: "Items",
    width: "64px",
    align: "right",
    narrow: "side",
    cell: (g) => <span className="font-medium">{g.count === 0 ? missing : countText(g)}</span>,
  },
];
