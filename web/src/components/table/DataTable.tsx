import { columnVisibilityFeature, type RowData, rowSelectionFeature, tableFeatures, useTable } from "@tanstack/react-table";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useMemo, useRef } from "react";
import { formatCount } from "@/format";
import { useNarrow } from "@/hooks/media";
import { usePreferences } from "@/hooks/preferences";
import { Kbd } from "../Kbd";
import { RefetchLine } from "../Skeleton";
import { BulkBar } from "./BulkBar";
import type { Column, Sort } from "./column";
import { shownColumns } from "./column";
import { FreshRows } from "./FreshRows";
import { GridHead, GridRow, GridSkeleton, RowSkeleton } from "./GridParts";
import { useGridKeys } from "./useGridKeys";
import { useStay } from "./useStay";

const features = tableFeatures({ columnVisibilityFeature, rowSelectionFeature });
const rowHeights = { compact: 28, normal: 32, roomy: 40 } as const;
const stackedHeight = 56;

export interface DataTableProps<T> {
  /** Names the table for screen readers. */
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  idOf: (row: T) => string;
  /** The columns that the person chose, from the URL. */
  shown?: readonly string[] | undefined;
  sort?: Sort | undefined;
  onSort?: ((sort: Sort) => void) | undefined;
  /** How many rows stand before the first loaded one; usePages gives it. */
  before?: number;
  /** A row before the loaded ones is visible. */
  onBefore?: (row: number) => void;
  /** How many rows the server has, where it says; -1 while it is unknown. */
  total?: number | undefined;
  loading?: boolean;
  refetching?: boolean;
  hasMore?: boolean;
  loadingMore?: boolean;
  onMore?: () => void;
  onOpen?: (row: T) => void;
  onPeek?: (row: T) => void;
  /** The id of the row that a pane shows. */
  open?: string | undefined;
  /** The current row changed by keyboard: an open peek follows. */
  onMove?: (row: T) => void;
  /** Whether the first row is in view. New rows insert only then; see useLiveList. */
  onTop?: (atTop: boolean) => void;
  /** Rows that the server has above the first one. */
  fresh?: { count: number; more: boolean } | undefined;
  /** Selected ids; with it rows have a checkbox. */
  selected?: ReadonlySet<string>;
  onSelect?: (selected: ReadonlySet<string>) => void;
  /** Actions on the selected rows, in the bar that floats. */
  bulk?: (selected: ReadonlySet<string>) => ReactNode;
  /** 32 px where absent; 48 for rows of two lines. */
  rowHeight?: number;
  /** In the place of rows, when there are none. */
  empty?: ReactNode;
}

/** A virtual table over keyset pages. The page owns filters, sort, columns and selection; most of them live in the URL. */
export function DataTable<T extends RowData>(props: DataTableProps<T>) {
  const { columns, rows, idOf, selected, onSelect, hasMore, loadingMore, onMore, before = 0, onBefore } = props;
  const narrow = useNarrow();
  const { density } = usePreferences();
  const scroller = useRef<HTMLDivElement>(null);
  const visible = useMemo(() => new Set(shownColumns(columns, props.shown)), [columns, props.shown]);
  const table = useTable({
    features,
    data: rows as T[],
    columns: useMemo(() => columns.map((c) => ({ id: c.id, header: c.header, accessorFn: (row: T) => row, meta: c })), [columns]),
    getRowId: idOf,
    state: {
      columnVisibility: Object.fromEntries(columns.map((c) => [c.id, visible.has(c.id)])),
      rowSelection: Object.fromEntries([...(selected ?? [])].map((id) => [id, true])),
    },
    onRowSelectionChange: (change) => {
      const old = Object.fromEntries([...(selected ?? [])].map((id) => [id, true as const]));
      const next = typeof change === "function" ? change(old) : change;
      onSelect?.(new Set(Object.keys(next).filter((id) => next[id])));
    },
  });
  const model = table.getRowModel().rows;
  const shown = table.getVisibleLeafColumns().flatMap((c) => columns.find((own) => own.id === c.id) ?? []);
  const height = narrow ? stackedHeight : (props.rowHeight ?? rowHeights[density]);
  const count = before + model.length;
  const rowAt = (index: number) => model[index - before];
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: 12,
    getItemKey: (index) => rowAt(index)?.id ?? index,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the sizes are measured again when the height of rows changes.
  useEffect(() => virtual.measure(), [virtual, height]);
  const items = virtual.getVirtualItems();
  useStay(scroller, before === 0 ? model.map((row) => row.id) : [], height);
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? -1;

  useEffect(() => {
    if (loadingMore) return;
    if (before > 0 && first < before + 20) onBefore?.(first);
    else if (hasMore && last >= count - 20) onMore?.();
  }, [hasMore, loadingMore, first, last, before, count, onMore, onBefore]);

  const at =
    (act: ((row: T) => void) | undefined) =>
    (index: number): void => {
      const row = rowAt(index);
      if (row) act?.(row.original);
    };
  const toggle = onSelect && ((index: number) => rowAt(index)?.toggleSelected());
  const keys = useGridKeys({
    count,
    idAt: (index) => rowAt(index)?.id,
    onOpen: props.onOpen && at(props.onOpen),
    onPeek: props.onPeek && at(props.onPeek),
    onToggle: toggle,
    onMove: props.onMove && at(props.onMove),
    onClear: selected && selected.size > 0 ? () => onSelect?.(new Set()) : undefined,
    scrollTo: (index) => virtual.scrollToIndex(index),
  });
  const tracks = `${onSelect ? "28px " : ""}${shown.map((c) => c.width).join(" ")}`;
  const total = props.total ?? (hasMore ? -1 : count);
  const none = !props.loading && count === 0 && !hasMore;

  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      {props.fresh && <FreshRows {...props.fresh} scroller={scroller} />}
      <div ref={scroller} onScroll={(e) => props.onTop?.(e.currentTarget.scrollTop < height)} className="min-h-0 flex-1 overflow-auto">
        <RefetchLine active={Boolean(props.refetching)} />
        {none ? (
          props.empty
        ) : (
          // biome-ignore lint/a11y/useSemanticElements: rows are virtual and stack on phones, which a table element cannot.
          <div
            role="grid"
            aria-label={props.label}
            aria-rowcount={total < 0 ? -1 : total + 1}
            aria-colcount={shown.length + (onSelect ? 1 : 0)}
            aria-busy={props.loading || props.refetching || undefined}
            tabIndex={0}
            className="min-w-full focus-visible:outline-none md:w-min [&:focus-visible_[aria-current=true]]:outline-2"
          >
            <GridHead
              columns={shown}
              tracks={tracks}
              sort={props.sort}
              onSort={props.onSort}
              hidden={narrow}
              select={
                onSelect && {
                  all: model.length > 0 && table.getIsAllRowsSelected(),
                  some: table.getIsSomeRowsSelected(),
                  onChange: (all) => table.toggleAllRowsSelected(all),
                }
              }
            />
            {props.loading ? (
              <GridSkeleton columns={shown} tracks={tracks} height={height} />
            ) : (
              <div className="relative" style={{ height: virtual.getTotalSize() }}>
                {items.map((item) => {
                  const row = rowAt(item.index);
                  if (!row) return <RowSkeleton key={item.index} columns={shown} tracks={tracks} top={item.start} height={height} />;
                  return (
                    <GridRow
                      key={row.id}
                      row={row.original}
                      index={item.index}
                      top={item.start}
                      height={height}
                      narrow={narrow}
                      columns={shown}
                      tracks={tracks}
                      current={keys.current === item.index}
                      shown={row.id === props.open}
                      onOpen={() => {
                        keys.setCurrent(item.index);
                        props.onOpen?.(row.original);
                      }}
                      {...(onSelect ? { selected: row.getIsSelected(), onToggle: () => row.toggleSelected() } : {})}
                    />
                  );
                })}
              </div>
            )}
          </div>
        )}
      </div>
      {selected && selected.size > 0 && props.bulk && (
        <BulkBar count={selected.size} onClear={() => onSelect?.(new Set())}>
          {props.bulk(selected)}
        </BulkBar>
      )}
      {!none && !props.loading && (
        <TableFoot
          first={(virtual.range?.startIndex ?? 0) + 1}
          last={(virtual.range?.endIndex ?? last) + 1}
          total={total}
          more={Boolean(hasMore)}
          loaded={count}
          peek={Boolean(props.onPeek)}
          select={Boolean(onSelect)}
        />
      )}
    </div>
  );
}

function TableFoot({
  first,
  last,
  total,
  more,
  loaded,
  peek,
  select,
}: {
  first: number;
  last: number;
  total: number;
  more: boolean;
  loaded: number;
  peek: boolean;
  select: boolean;
}) {
  const of = total >= 0 ? formatCount(total) : more ? `${formatCount(loaded)}+` : formatCount(loaded);
  return (
    <div className="flex h-[34px] shrink-0 items-center justify-between gap-4 border-t border-line bg-surface px-4 text-12 text-ink-3 md:px-6">
      <span className="num">
        Rows {formatCount(first)}–{formatCount(last)} of {of}
      </span>
      <span className="hidden items-center gap-4 lg:flex">
        <span className="flex items-center gap-1">
          <Kbd>J</Kbd>
          <Kbd>K</Kbd> move
        </span>
        {select && (
          <span className="flex items-center gap-1">
            <Kbd>X</Kbd> select
          </span>
        )}
        {peek && (
          <span className="flex items-center gap-1">
            <Kbd>Space</Kbd> peek
          </span>
        )}
        <span className="flex items-center gap-1">
          <Kbd>↵</Kbd> open
        </span>
        <span className="flex items-center gap-1">
          <Kbd>?</Kbd> all shortcuts
        </span>
      </span>
    </div>
  );
}
