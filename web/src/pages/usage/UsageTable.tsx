import { useMemo } from "react";
import type { Schemas } from "@/api";
import { Cost } from "@/components/Cost";
import { LaneBars } from "@/components/LaneBars";
import type { Column } from "@/components/table/column";
import { DataTable } from "@/components/table/DataTable";
import { formatAmount, formatCount } from "@/format";
import { useNarrow } from "@/hooks/media";
import { type Dimension, dimensionWord, filterFor, type Line, noValue, valueIn } from "./dimension";
import type { Report } from "./query";

export interface UsageRow {
  id: string;
  kind: "total" | "group" | "other";
  line: Line;
}

/** The total of the server, the groups with the highest cost first, and the rest in one line. */
export function rowsOf(report: Report): UsageRow[] {
  const by = report.group_by as Dimension[];
  const groups = report.data.map((line): UsageRow => {
    return { id: JSON.stringify(by.map((d) => valueIn(line, d))), kind: line.other ? "other" : "group", line };
  });
  groups.sort((a, b) => Number(a.kind === "other") - Number(b.kind === "other") || compareCosts(b.line.cost_usd, a.line.cost_usd));
  return groups.length === 0 ? [] : [{ id: "total", kind: "total", line: report.total as Schemas["Sum"] & Line }, ...groups];
}

/** Compares two costs of the server without making them floats. */
export function compareCosts(a: string, b: string): number {
  const left = BigInt(a.replace(".", ""));
  const right = BigInt(b.replace(".", ""));
  return left < right ? -1 : left > right ? 1 : 0;
}

type Drill = (line: Line, dimension: Dimension) => void;

function valueColumn(dimension: Dimension, first: boolean, drill: Drill): Column<UsageRow> {
  return {
    id: dimension,
    header: dimensionWord(dimension),
    width: dimension === "tag" ? "minmax(200px, 2fr)" : "minmax(128px, 1.4fr)",
    fixed: true,
    narrow: first ? "lead" : "line",
    cell: ({ kind, line }) => {
      if (kind !== "group") return first ? <span className="font-semibold">{kind === "total" ? "Total" : "Other"}</span> : null;
      const value = valueIn(line, dimension);
      const word = value === "" ? <span className="text-ink-3">{noValue(dimension)}</span> : value;
      const shown = dimension === "lane" && value !== "" ? <LaneBars lane={value as Schemas["Lane"]} /> : word;
      if (!filterFor(line, dimension)) return shown;
      return (
        <button
          type="button"
          aria-label={`Only ${dimensionWord(dimension).toLowerCase()} ${value}`}
          onClick={(e) => {
            e.stopPropagation();
            drill(line, dimension);
          }}
          className="max-w-full truncate text-left hover:text-accent hover:underline"
        >
          {shown}
        </button>
      );
    },
  };
}

function amountColumn(id: string, header: string, amount: (line: Line) => number | undefined, extra = false): Column<UsageRow> {
  return { id, header, width: "88px", align: "right", extra, cell: ({ line }) => formatAmount(amount(line) ?? 0) };
}

const amounts: readonly Column<UsageRow>[] = [
  { id: "requests", header: "Requests", width: "88px", align: "right", narrow: "line", cell: ({ line }) => formatCount(line.requests) },
  amountColumn("input", "Tokens in", (l) => l.input_tokens),
  amountColumn("cached", "Cached", (l) => l.cached_input_tokens),
  amountColumn("cache_write", "Cache writes", (l) => l.cache_write_tokens, true),
  amountColumn("output", "Tokens out", (l) => l.output_tokens),
  amountColumn("reasoning", "Reasoning", (l) => l.reasoning_tokens, true),
  amountColumn("audio_in", "Audio in", (l) => l.audio_input_tokens, true),
  amountColumn("audio_out", "Audio out", (l) => l.audio_output_tokens, true),
  {
    id: "forfeit",
    header: "Forfeit",
    width: "88px",
    align: "right",
    extra: true,
    cell: ({ line }) => <Cost usd={line.forfeit_usd} what="forfeit" />,
  },
  {
    id: "cost",
    header: "Cost",
    width: "96px",
    align: "right",
    narrow: "side",
    cell: ({ kind, line }) => (
      <span className={kind === "total" ? "font-semibold" : ""}>
        <Cost usd={line.cost_usd} what="settled" />
      </span>
    ),
  },
];

export interface UsageTableProps {
  report: Report | undefined;
  by: readonly Dimension[];
  loading: boolean;
  refetching: boolean;
  drill: Drill;
  empty: React.ReactNode;
}

export function UsageTable({ report, by, loading, refetching, drill, empty }: UsageTableProps) {
  const rows = useMemo(() => (report ? rowsOf(report) : []), [report]);
  const columns = useMemo(() => [...by.map((d, i) => valueColumn(d, i === 0, drill)), ...amounts], [by, drill]);
  const narrow = useNarrow();
  const height = rows.length === 0 ? undefined : Math.min(640, rows.length * (narrow ? 56 : 32) + (narrow ? 34 : 67));
  return (
    <div className="flex flex-col overflow-hidden" style={{ height: loading ? 320 : height }}>
      <DataTable
        label="Usage"
        columns={columns}
        rows={rows}
        idOf={(row) => row.id}
        loading={loading}
        refetching={refetching}
        onOpen={(row) => {
          const next = by.find((d) => filterFor(row.line, d));
          if (row.kind === "group" && next) drill(row.line, next);
        }}
        empty={empty}
      />
    </div>
  );
}
