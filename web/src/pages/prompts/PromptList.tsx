import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Fragment, useMemo } from "react";
import { readPages, type Schemas } from "@/api";
import { Checkbox } from "@/components/Checkbox";
import { SearchInput } from "@/components/SearchInput";
import { EmptyState, ErrorPanel, NoMatch } from "@/components/States";
import { DataTable } from "@/components/table/DataTable";
import { useOneTenant } from "@/routes";
import { promptColumns, type Row, rowId } from "./columns";
import { NoPrompts } from "./NoPrompts";
import type { SearchChange } from "./PromptsPage";
import { stepsTo } from "./prompt";
import type { PromptsSearch } from "./route";

export interface PromptListProps {
  search: PromptsSearch;
  onChange: (change: SearchChange) => void;
  onAsk: (what: "create" | "import") => void;
  mayWrite: boolean;
}

/** A folder, or all prompts whose names begin with a text. */
export function PromptList({ search, onChange, onAsk, mayWrite }: PromptListProps) {
  const tenant = useOneTenant();
  const navigate = useNavigate();
  const folder = !search.folder || search.folder.endsWith("/") ? (search.folder ?? "") : `${search.folder}/`;
  const { begins, archived } = search;
  const query = useMemo(
    () => ({ limit: 100, ...(begins ? { prefix: folder + begins } : { folder }), ...(archived ? { archived: true } : {}) }),
    [folder, begins, archived],
  );
  const list = useInfiniteQuery({ ...readPages(tenant, "/v1/prompts", query), placeholderData: keepPreviousData });
  const rows = useMemo(() => rowsOf(list.data?.pages ?? [], folder), [list.data, folder]);
  const open = (row: Row) =>
    "folder" in row
      ? onChange({ folder: row.folder, begins: undefined })
      : void navigate({ to: "/t/$tenant/prompts/$", params: { tenant, _splat: row.prompt.name }, search: {} });
  const empty = begins ? (
    <NoMatch what="prompts" onClear={() => onChange({ begins: undefined })} />
  ) : folder ? (
    <EmptyState title="Nothing is in this folder">A folder exists as long as a prompt has it in its name.</EmptyState>
  ) : (
    <NoPrompts mayWrite={mayWrite} onAsk={onAsk} />
  );
  return (
    <>
      <div className="flex flex-wrap items-center gap-3 px-4 py-2.5 md:px-6">
        {folder && <FolderPath folder={folder} archived={archived !== undefined} />}
        <SearchInput
          label="Names that begin with"
          value={begins ?? ""}
          onChange={(text) => onChange({ begins: text || undefined })}
          placeholder={folder ? `Name begins with ${folder}…` : "Name begins with…"}
          className="max-w-md"
        />
        <Checkbox
          label="Archived prompts too"
          showLabel
          checked={archived !== undefined}
          onChange={(on) => onChange({ archived: on ? "yes" : undefined })}
        />
      </div>
      {list.error && !list.data ? (
        <ErrorPanel error={list.error} onRetry={() => void list.refetch()} />
      ) : (
        <DataTable
          label="Prompts"
          columns={promptColumns}
          rows={rows}
          idOf={rowId}
          loading={list.isPending || (rows.length === 0 && list.hasNextPage)}
          refetching={list.isRefetching && !list.isFetchingNextPage}
          hasMore={list.hasNextPage}
          loadingMore={list.isFetchingNextPage}
          onMore={() => void list.fetchNextPage()}
          onOpen={open}
          empty={empty}
        />
      )}
    </>
  );
}

/** Folders first, then prompts, both in the order of their names. Pages of a folder have both. */
function rowsOf(pages: readonly Schemas["PromptPage"][], folder: string): Row[] {
  return [
    ...pages.flatMap((p) => p.folders.map((one) => ({ folder: one }))),
    ...pages.flatMap((p) => p.data.map((prompt) => ({ prompt, title: prompt.name.slice(folder.length) }))),
  ];
}

function FolderPath({ folder, archived }: { folder: string; archived: boolean }) {
  const tenant = useOneTenant();
  const more = archived ? { archived: "yes" as const } : {};
  const steps = stepsTo(folder);
  return (
    <nav aria-label="Folder" className="flex min-w-0 flex-wrap items-center gap-1.5">
      <Link to="/t/$tenant/prompts" params={{ tenant }} search={more} className="text-accent hover:underline">
        All prompts
      </Link>
      {steps.map(({ title, folder: to }, i) => (
        <Fragment key={to}>
          <span aria-hidden className="text-ink-3">
            /
          </span>
          {i === steps.length - 1 ? (
            <span aria-current="page" className="font-medium">
              {title}
            </span>
          ) : (
            <Link to="/t/$tenant/prompts" params={{ tenant }} search={{ ...more, folder: to }} className="text-accent hover:underline">
              {title}
            </Link>
          )}
        </Fragment>
      ))}
    </nav>
  );
}
