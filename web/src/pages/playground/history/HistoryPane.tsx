import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Download, Ellipsis, Pencil, Trash2, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { readPages } from "@/api";
import { Button, IconButton } from "@/components/Button";
import { Chip } from "@/components/Chip";
import { CurlButton } from "@/components/Copy";
import { Cost } from "@/components/Cost";
import { cn } from "@/components/cn";
import { Menu, MenuItem, MenuSeparator } from "@/components/Menu";
import { SearchInput } from "@/components/SearchInput";
import { RefetchLine, Skeleton, useSlow } from "@/components/Skeleton";
import { StateGlyph } from "@/components/StateGlyph";
import { ErrorPanel } from "@/components/States";
import { Segments } from "@/components/Tabs";
import { Time } from "@/components/Time";
import { plural } from "@/format";
import { useMedia } from "@/hooks/media";
import type { RunSummary } from "../api";
import type { Shown } from "../Dialogs";
import { exportRows } from "../export/rows";
import { usePlayground, useRun } from "../state";
import type { Session } from "../useSession";
import { personName, runGlyph, runTitle } from "./words";

const pageSize = 30;

/** All runs of the person, and those that others share: search, open, rename, delete. */
export function HistoryPane({ session, onDialog }: { session: Session; onDialog: (dialog: Shown) => void }) {
  const { tenant } = usePlayground();
  const [query, setQuery] = useState("");
  const [author, setAuthor] = useState<"me" | "others">("me");
  const filter = { author, limit: pageSize, ...(query ? { query } : {}) };
  const list = useInfiniteQuery({ ...readPages(tenant, "/v1/playground/runs", filter), placeholderData: keepPreviousData });
  const slow = useSlow(list.isPending);
  const runs = list.data?.pages.flatMap((p) => p.data) ?? [];
  const below = useMedia("(max-width: 1099.9px)");
  const pane = useRef<HTMLElement>(null);
  useEffect(() => {
    if (below) pane.current?.scrollIntoView(); // it opens below the columns, where nobody would see it
  }, [below]);
  return (
    <aside
      ref={pane}
      aria-label="History"
      className="flex min-h-0 shrink-0 flex-col border-line bg-sunken max-lg:min-h-[75vh] max-lg:border-t lg:w-[336px] lg:border-l"
    >
      <div className="flex flex-col gap-2 border-b border-line p-3">
        <div className="flex items-center gap-1">
          <h2 className="flex-1 text-13 font-semibold">History</h2>
          <CurlButton small call={{ path: "/v1/playground/runs", query: filter }} />
          <IconButton small icon={X} label="Close history" onClick={() => session.set({ pane: undefined })} />
        </div>
        <SearchInput label="Search runs" placeholder="Name, prompt or model" value={query} onChange={setQuery} />
        <div>
          <Segments
            label="Whose runs"
            value={author}
            tabs={[
              { value: "me", label: "Mine" },
              { value: "others", label: "Shared with me" },
            ]}
            onChange={setAuthor}
          />
        </div>
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto">
        <RefetchLine active={list.isRefetching} />
        {list.error && <ErrorPanel error={list.error} onRetry={() => void list.refetch()} />}
        {slow && (
          <div className="flex flex-col gap-3 p-3">
            <Skeleton className="h-10" />
            <Skeleton className="h-10" />
            <Skeleton className="h-10" />
          </div>
        )}
        {list.data && runs.length === 0 && <p className="p-4 text-ink-3">{emptyWords(query, author)}</p>}
        <ul aria-label="Runs">
          {runs.map((run) => (
            <Item key={run.id} run={run} session={session} onDialog={onDialog} />
          ))}
        </ul>
        {list.hasNextPage && (
          <div className="p-3">
            <Button small busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
              Load more
            </Button>
          </div>
        )}
      </div>
    </aside>
  );
}

function emptyWords(query: string, author: "me" | "others"): string {
  if (query) return "No run has this in its name, its prompts or its models.";
  return author === "me"
    ? "Your runs appear here. They are kept as long as the tenant keeps payloads."
    : "Nobody has shared a run with you yet.";
}

function Item({ run, session, onDialog }: { run: RunSummary; session: Session; onDialog: (dialog: Shown) => void }) {
  const { tenant } = usePlayground();
  const shown = useRun()?.id === run.id;
  const cells = Object.values(run.counts).reduce((sum, n) => sum + n, 0);
  return (
    <li className={cn("group relative border-b border-line", shown ? "bg-accent-tint" : "hover:bg-hover")}>
      <button
        type="button"
        aria-current={shown ? "true" : undefined}
        onClick={() => session.open(run.id)}
        className="flex w-full flex-col gap-0.5 py-2 pr-10 pl-3 text-left focus-visible:-outline-offset-2"
      >
        <span className="flex w-full min-w-0 items-center gap-2">
          <StateGlyph state={runGlyph(run)} alone />
          <span className="truncate font-medium">{runTitle(run)}</span>
          {run.shared !== "private" && run.mine && <Chip>shared</Chip>}
        </span>
        <span className="flex flex-wrap gap-x-2 pl-[22px] text-12 text-ink-3">
          <Time iso={run.created_at} />
          <span className="num">{plural(cells, "output")}</span>
          <Cost usd={run.cost_usd} />
          {!run.mine && <span className="truncate">{personName(run.author)}</span>}
        </span>
      </button>
      <span className="absolute top-1.5 right-1.5">
        <Menu trigger={<IconButton small icon={Ellipsis} label={`Actions of ${runTitle(run)}`} />}>
          {run.mine && (
            <MenuItem icon={Pencil} onSelect={() => onDialog({ kind: "rename", run })}>
              Rename…
            </MenuItem>
          )}
          <MenuItem icon={Download} onSelect={() => void exportRows(tenant, run)}>
            Export rows as JSONL
          </MenuItem>
          {run.mine && (
            <>
              <MenuSeparator />
              <MenuItem icon={Trash2} danger onSelect={() => onDialog({ kind: "delete", run })}>
                Delete…
              </MenuItem>
            </>
          )}
        </Menu>
      </span>
    </li>
  );
}
