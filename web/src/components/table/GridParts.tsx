import { ArrowDown, ArrowUp } from "lucide-react";
import type { MouseEvent } from "react";
import { Checkbox } from "../Checkbox";
import { cn } from "../cn";
import { Skeleton } from "../Skeleton";
import type { Column, Sort } from "./column";

interface HeadProps<T> {
  columns: readonly Column<T>[];
  tracks: string;
  sort?: Sort | undefined;
  onSort?: ((sort: Sort) => void) | undefined;
  /** Rows stack: the head is for screen readers only. */
  hidden: boolean;
  select: { all: boolean; some: boolean; onChange: (all: boolean) => void } | undefined;
}

const grid = "grid items-center gap-x-4 px-4 md:px-6";

export function GridHead<T>({ columns, tracks, sort, onSort, hidden, select }: HeadProps<T>) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: see DataTable.
    // biome-ignore lint/a11y/useFocusableInteractive: the grid takes the focus.
    <div
      role="row"
      aria-rowindex={1}
      className={hidden ? "sr-only" : cn(grid, "sticky top-0 z-[5] h-8 border-y border-line bg-sunken text-12 text-ink-2")}
      style={{ gridTemplateColumns: tracks }}
    >
      {select && (
        // biome-ignore lint/a11y/useSemanticElements: see DataTable.
        // biome-ignore lint/a11y/useFocusableInteractive: its checkbox takes the focus.
        <span role="columnheader" aria-label="Selection">
          <Checkbox label="Select all loaded rows" checked={select.all} some={select.some && !select.all} onChange={select.onChange} />
        </span>
      )}
      {columns.map((c) => {
        const active = sort !== undefined && sort.by === c.sort;
        const Arrow = sort?.descending ? ArrowDown : ArrowUp;
        return (
          // biome-ignore lint/a11y/useSemanticElements: see DataTable.
          // biome-ignore lint/a11y/useFocusableInteractive: its button takes the focus.
          <span
            key={c.id}
            role="columnheader"
            aria-sort={active ? (sort?.descending ? "descending" : "ascending") : undefined}
            className={cn("flex min-w-0 items-center truncate", c.align === "right" && "justify-end")}
          >
            {c.sort && onSort ? (
              <button
                type="button"
                onClick={() => onSort({ by: c.sort ?? c.id, descending: active ? !sort?.descending : true })}
                className={cn("inline-flex h-6 items-center gap-1 hover:text-ink", active && "font-medium text-ink")}
              >
                {c.header}
                {active && <Arrow aria-hidden className="size-3.5" strokeWidth={1.75} />}
              </button>
            ) : (
              <span className={c.quiet ? "sr-only" : "truncate"}>{c.header}</span>
            )}
          </span>
        );
      })}
    </div>
  );
}

interface RowProps<T> {
  row: T;
  index: number;
  top: number;
  height: number;
  narrow: boolean;
  columns: readonly Column<T>[];
  tracks: string;
  current: boolean;
  /** A pane shows it. */
  shown?: boolean;
  selected?: boolean;
  onToggle?: () => void;
  onOpen?: () => void;
}

export function GridRow<T>(props: RowProps<T>) {
  const { row, columns, selected, current, onToggle, onOpen, narrow } = props;
  const press = (event: MouseEvent) => {
    // A menu of the row is elsewhere in the document, but its clicks arrive here.
    if (event.target instanceof Node && !event.currentTarget.contains(event.target)) return;
    const inner = event.target instanceof Element && event.target.closest("a,button,input");
    if (!inner && window.getSelection()?.isCollapsed !== false) onOpen?.();
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: see DataTable.
    // biome-ignore lint/a11y/useFocusableInteractive: the grid takes the focus, and j and k move the current row.
    // biome-ignore lint/a11y/useKeyWithClickEvents: Enter opens the current row, see useGridKeys.
    <div
      role="row"
      aria-rowindex={props.index + 2}
      aria-selected={onToggle ? Boolean(selected) : undefined}
      aria-current={current || undefined}
      onClick={press}
      className={cn(
        "absolute inset-x-0 border-b border-line text-13",
        narrow ? "flex flex-col justify-center gap-0.5 px-4" : grid,
        selected || props.shown ? "bg-accent-tint" : "hover:bg-hover",
        onOpen && "cursor-pointer",
        current && "shadow-[inset_2px_0_var(--accent)] outline-focus -outline-offset-2",
      )}
      style={{ height: props.height, transform: `translateY(${props.top}px)`, ...(narrow ? {} : { gridTemplateColumns: props.tracks }) }}
    >
      {!narrow && onToggle && (
        // biome-ignore lint/a11y/useSemanticElements: see DataTable.
        // biome-ignore lint/a11y/useFocusableInteractive: its checkbox takes the focus.
        <span role="gridcell">
          <Checkbox label={`Select row ${props.index + 1}`} checked={Boolean(selected)} onChange={onToggle} />
        </span>
      )}
      {narrow ? <Stacked row={row} columns={columns} /> : columns.map((c) => <Cell key={c.id} row={row} column={c} />)}
    </div>
  );
}

function Cell<T>({ row, column }: { row: T; column: Column<T> }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: see DataTable.
    // biome-ignore lint/a11y/useFocusableInteractive: the grid takes the focus.
    <span role="gridcell" className={cn("min-w-0 truncate", column.align === "right" && "num text-right")}>
      {column.cell(row)}
    </span>
  );
}

/** A row on a phone: two lines, with the columns that ask for a place. */
function Stacked<T>({ row, columns }: { row: T; columns: readonly Column<T>[] }) {
  const place = (where: Column<T>["narrow"]) => columns.filter((c) => c.narrow === where);
  return (
    <>
      <div className="flex items-center justify-between gap-3">
        {[...place("lead"), ...place("side")].map((c) => (
          <Cell key={c.id} row={row} column={c} />
        ))}
      </div>
      <div className="flex items-center gap-3 text-12 text-ink-3">
        {place("line").map((c) => (
          <Cell key={c.id} row={row} column={c} />
        ))}
      </div>
    </>
  );
}

/** Rows of the final layout while the first page loads. */
export function GridSkeleton<T>({ columns, tracks, height }: { columns: readonly Column<T>[]; tracks: string; height: number }) {
  return (
    <div aria-hidden className="relative" style={{ height: 18 * height }}>
      {Array.from({ length: 18 }, (_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike.
        <RowSkeleton key={i} columns={columns} tracks={tracks} top={i * height} height={height} />
      ))}
    </div>
  );
}

/** The place of a row that is not loaded. */
export function RowSkeleton<T>(props: { columns: readonly Column<T>[]; tracks: string; top: number; height: number }) {
  return (
    <div
      aria-hidden
      className={cn(grid, "absolute inset-x-0 border-b border-line")}
      style={{ height: props.height, transform: `translateY(${props.top}px)`, gridTemplateColumns: props.tracks }}
    >
      {props.columns.map((c) => (
        <Skeleton key={c.id} className="w-3/5" />
      ))}
    </div>
  );
}
