import type { ReactNode } from "react";
import { cn } from "./cn";

export interface PlainColumn<T> {
  header: string;
  cell: (row: T) => ReactNode;
  align?: "left" | "right";
  className?: string;
}

/** A short list that is complete: no pages, no keys. Long lists are a DataTable. */
export function PlainTable<T>({
  label,
  columns,
  rows,
  idOf,
}: {
  label: string;
  columns: readonly PlainColumn<T>[];
  rows: readonly T[];
  idOf: (row: T) => string;
}) {
  return (
    <section aria-label={label} tabIndex={0} className="overflow-x-auto focus-visible:-outline-offset-2">
      <table className="w-full text-left">
        <thead>
          <tr className="h-8 border-b border-line bg-sunken text-12 text-ink-2">
            {columns.map((c) => (
              <th key={c.header} scope="col" className={cn("px-3.5 font-normal whitespace-nowrap", c.align === "right" && "text-right")}>
                {c.header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={idOf(row)} className="min-h-8 border-b border-line last:border-b-0">
              {columns.map((c) => (
                <td key={c.header} className={cn("px-3.5 py-1.5 align-middle", c.align === "right" && "num text-right", c.className)}>
                  {c.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
