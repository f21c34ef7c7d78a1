import type { Cell } from "../api";
import type { Column } from "../setup/editor";
import { useEditor, useRunState } from "../state";
import { useColumns } from "../useColumns";
import { cellAt } from "./cells";

/** The cell that a column shows: of the shown row and trial. */
export function useShownCell(column: Pick<Column, "ran">): Cell | undefined {
  const row = useEditor((e) => e.row);
  const { trial } = useColumns();
  return useRunState((s) => cellAt(s.followed?.run ?? null, column.ran, row, trial));
}
