import type { ReactNode } from "react";
import { useNarrow } from "@/hooks/media";
import { cn } from "../cn";
import type { Column } from "./column";

export interface PlainTableProps<T> {
  /** Names the table for screen readers. */
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  idOf: (row: T) => string;
  onOpen?: (row: T) => void;
  /** More about a row, under it and over its whole width. */
  under?: (row: T) => ReactNode;
}

/** A short table inside a card: all rows are there. Long lists are a DataTable. On a phone rows stack by `narrow` of the columns. */
export function PlainTable<T>(props: PlainTableProps<T>) {
  const narrow = useNarrow();
  return narrow ? <StackedRows {...props} /> : <Rows {...props} />;
}

function Rows<T>({ label, columns, rows, idOf, onOpen, under }: PlainTableProps<T>) {
  return (
    <section className="overflow-x-auto" tabIndex={0} aria-label={label}>
      <table className="w-full border-collapse text-13">
        <thead>
          <tr className="h-8 border-b border-line text-12 text-ink-2">
            {columns.map((c) => (
              <th
                key={c.id}
                scope="col"
                className={cn(
                  "px-2 font-normal whitespace-nowrap first:pl-3.5 last:pr-3.5",
                  c.align === "right" ? "text-right" : "text-left",
                )}
              >
                <span className={c.quiet ? "sr-only" : undefined}>{c.header}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Row key={idOf(row)} row={row} columns={columns} onOpen={onOpen} under={under} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface RowProps<T> {
  row: T;
  columns: readonly Column<T>[];
  onOpen: ((row: T) => void) | undefined;
  under: ((row: T) => ReactNode) | undefined;
}

function Row<T>({ row, columns, onOpen, under }: RowProps<T>) {
  const more = under?.(row);
  return (
    <>
      <tr
        onClick={(event) => {
          if (event.target instanceof Element && !event.target.closest("a,button,input")) onOpen?.(row);
        }}
        className={cn("h-8 hover:bg-hover", more ? "" : "border-b border-line last:border-b-0", onOpen && "cursor-pointer")}
      >
        {columns.map((c) => (
          <td
            key={c.id}
            style={c.quiet ? {} : { maxWidth: c.width }}
            className={cn(
              "px-2 first:pl-3.5 last:pr-3.5",
              !c.quiet && "truncate",
              c.align === "right" && "num text-right whitespace-nowrap",
            )}
          >
            {c.cell(row)}
          </td>
        ))}
      </tr>
      {more && (
        <tr className="border-b border-line last:border-b-0">
          <td colSpan={columns.length} className="px-3.5 pb-2 text-12 text-ink-2">
            {more}
          </td>
        </tr>
      )}
    </>
  );
}

function StackedRows<T>({ label, columns, rows, idOf, under }: PlainTableProps<T>) {
  const place = (where: Column<T>["narrow"]) => columns.filter((c) => c.narrow === where);
  return (
    <ul aria-label={label}>
      {rows.map((row) => (
        <li key={idOf(row)} className="border-b border-line px-3.5 py-2 last:border-b-0">
          <div className="flex min-h-6 items-center justify-between gap-3">
            {[...place("lead"), ...place("side")].map((c) => (
              <span key={c.id} className="min-w-0 truncate">
                {c.cell(row)}
              </span>
            ))}
          </div>
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-12 text-ink-2">
            {place("line").map((c) => (
              <span key={c.id} className="flex min-w-0 items-center gap-1">
                {!c.quiet && <span className="text-ink-3">{c.header}</span>}
                {c.cell(row)}
              </span>
            ))}
          </div>
          {under && <div className="mt-1 text-12 text-ink-2">{under(row)}</div>}
        </li>
      ))}
    </ul>
  );
}
