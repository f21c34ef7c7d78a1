import { Link } from "@tanstack/react-router";
import { FilePen, Folder, MessageSquareText, Type } from "lucide-react";
import { Chip } from "@/components/Chip";
import { TimeAgo } from "@/components/Time";
import type { Column } from "@/components/table/column";
import { missing } from "@/format";
import { useOneTenant } from "@/routes";
import { LabelState } from "./Names";
import { latestLabel, leafOf, type Prompt } from "./prompt";

/** A row of the list: a folder, or a prompt. */
export type Row = { folder: string } | { prompt: Prompt; title: string };

export function rowId(row: Row): string {
  return "folder" in row ? row.folder : row.prompt.name;
}

/** The labels of a row that are shown; the rest is a number. */
const shownLabels = 3;

export const promptColumns: readonly Column<Row>[] = [
  { id: "name", header: "Name", width: "minmax(220px, 1.4fr)", fixed: true, narrow: "lead", cell: (row) => <Name row={row} /> },
  {
    id: "kind",
    header: "Kind",
    width: "64px",
    narrow: "hide",
    cell: (row) => ("folder" in row ? null : row.prompt.kind),
  },
  {
    id: "latest",
    header: "Latest",
    width: "64px",
    align: "right",
    narrow: "side",
    cell: (row) => ("folder" in row ? null : row.prompt.latest === null ? missing : `v${row.prompt.latest}`),
  },
  { id: "labels", header: "Labels", width: "minmax(200px, 2fr)", narrow: "line", cell: (row) => <Labels row={row} /> },
  { id: "draft", header: "Draft", width: "72px", narrow: "hide", cell: (row) => <Draft row={row} /> },
  {
    id: "updated",
    header: "Updated",
    width: "80px",
    align: "right",
    narrow: "line",
    cell: (row) => ("folder" in row ? null : <TimeAgo iso={row.prompt.updated_at} />),
  },
];

function Name({ row }: { row: Row }) {
  const tenant = useOneTenant();
  if ("folder" in row) {
    return (
      <Link
        to="/t/$tenant/prompts"
        params={{ tenant }}
        search={(old) => ({ ...(old.archived ? { archived: "yes" as const } : {}), folder: row.folder })}
        className="inline-flex min-w-0 items-center gap-2 font-medium hover:underline"
      >
        <Folder aria-hidden className="size-4 shrink-0 text-ink-3" strokeWidth={1.75} />
        <span className="truncate">{leafOf(row.folder)}/</span>
      </Link>
    );
  }
  const { prompt } = row;
  const Icon = prompt.kind === "chat" ? MessageSquareText : Type;
  return (
    <span className="flex min-w-0 items-center gap-2">
      <Icon aria-hidden className="size-4 shrink-0 text-ink-3" strokeWidth={1.75} />
      <Link to="/t/$tenant/prompts/$" params={{ tenant, _splat: prompt.name }} search={{}} className="truncate font-medium hover:underline">
        {row.title}
      </Link>
      {prompt.archived_at && <Chip>archived</Chip>}
    </span>
  );
}

function Labels({ row }: { row: Row }) {
  if ("folder" in row) return null;
  const labels = row.prompt.labels.filter((l) => l.label !== latestLabel);
  if (labels.length === 0) return <span className="text-ink-3">{missing}</span>;
  return (
    <span className="flex items-center gap-3 overflow-hidden">
      {labels.slice(0, shownLabels).map((l) => (
        <LabelState key={l.label} label={l} latest={row.prompt.latest} />
      ))}
      {labels.length > shownLabels && <span className="text-12 text-ink-3">+{labels.length - shownLabels}</span>}
    </span>
  );
}

function Draft({ row }: { row: Row }) {
  const tenant = useOneTenant();
  if ("folder" in row) return null;
  if (row.prompt.draft === null) return <span className="text-ink-3">{missing}</span>;
  return (
    <Link
      to="/t/$tenant/prompts/$"
      params={{ tenant, _splat: row.prompt.name }}
      search={{ tab: "draft" }}
      className="inline-flex items-center gap-1 text-violet hover:underline"
    >
      <FilePen aria-hidden className="size-3.5" strokeWidth={1.75} />
      draft
    </Link>
  );
}
