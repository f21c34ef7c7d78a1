import type { ReactNode } from "react";

/** A column of a DataTable. */
export interface Column<T> {
  id: string;
  header: string;
  /** The header is for screen readers only: columns of buttons. */
  quiet?: boolean;
  cell: (row: T) => ReactNode;
  /** A track of a CSS grid: `"120px"`, `"minmax(120px, 1fr)"`. */
  width: string;
  /** Numbers stand right, in tabular figures. */
  align?: "left" | "right";
  /** Its name in the sort of the server; columns without cannot be sorted. */
  sort?: string;
  /** The column picker cannot hide it. */
  fixed?: boolean;
  /** Hidden until chosen in the column picker. */
  extra?: boolean;
  /** Its place where rows stack (under 768 px): first line left, first line right, second line, or nowhere. */
  narrow?: "lead" | "side" | "line" | "hide";
}

export interface Sort {
  by: string;
  descending: boolean;
}

/** The ids of the columns that are shown: the choice in the URL, or all that are not extra. */
export function shownColumns<T>(columns: readonly Column<T>[], chosen: readonly string[] | undefined): string[] {
  if (!chosen || chosen.length === 0) return columns.filter((c) => !c.extra).map((c) => c.id);
  return columns.filter((c) => c.fixed || chosen.includes(c.id)).map((c) => c.id);
}
