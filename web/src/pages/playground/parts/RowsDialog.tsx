import { Plus, Trash2 } from "lucide-react";
import { Button, IconButton } from "@/components/Button";
import { cn } from "@/components/cn";
import { Dialog } from "@/components/Dialog";
import { StateGlyph } from "@/components/StateGlyph";
import type { Run } from "../api";
import { cellStates } from "../output/cells";
import { addRow, type Column, letters, removeRow, showRow } from "../setup/editor";
import { maxRows } from "../setup/rows";
import { type VariableField, valuesOfRow } from "../setup/variables";
import { useEdit, useEditor, usePlayground, useRun, useRunState } from "../state";
import { useColumns } from "../useColumns";

/** All rows as a table: variables to edit, and the state and the beginning of each output. */
export function RowsDialog({ onClose }: { onClose: () => void }) {
  const { readOnly } = usePlayground();
  const { fields } = useColumns();
  const editor = useEditor((e) => e);
  const run = useRun();
  const edit = useEdit();
  return (
    <Dialog
      open
      wide
      onOpenChange={(open) => !open && onClose()}
      title="Rows"
      description="Each row runs in each column, as often as there are trials."
      footer={
        <>
          {!readOnly && (
            <Button icon={Plus} className="mr-auto" disabled={editor.rows.length >= maxRows} onClick={() => edit(addRow)}>
              Add row
            </Button>
          )}
          <Button look="accent" onClick={onClose}>
            Done
          </Button>
        </>
      }
    >
      <section aria-label="Rows" tabIndex={0} className="mb-2 overflow-auto rounded-card border border-line">
        <table className="w-full text-12">
          <thead className="sticky top-0 bg-sunken">
            <tr className="border-b border-line text-left text-ink-2">
              <th className="px-2 py-1.5 font-normal">Row</th>
              {fields.map((f) => (
                <th key={f.name} className="px-2 py-1.5 font-mono font-normal text-violet">
                  {f.name}
                </th>
              ))}
              {run &&
                editor.columns.map((c, at) => (
                  <th key={c.key} className="px-2 py-1.5 font-normal">
                    Output {letters[at]}
                  </th>
                ))}
              <th className="px-2 py-1.5">
                <span className="sr-only">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {editor.rows.map((row, at) => (
              <tr
                // biome-ignore lint/suspicious/noArrayIndexKey: rows may be equal; their place is their identity.
                key={at}
                className={cn("border-b border-line last:border-b-0", at === editor.row && "bg-accent-tint")}
              >
                <td className="num px-2 text-ink-3">{at + 1}</td>
                {fields.map((f) => (
                  <VariableCell key={f.name} at={at} field={f} text={row[f.name]} problem={valuesOfRow([f], row).problems[f.name]} />
                ))}
                {run && editor.columns.map((c) => <OutputCell key={c.key} run={run} column={c} row={at} />)}
                <td className="px-1 text-right whitespace-nowrap">
                  <Button
                    small
                    look="ghost"
                    onClick={() => {
                      edit((e) => showRow(e, at));
                      onClose();
                    }}
                  >
                    Show
                  </Button>
                  {!readOnly && editor.rows.length > 1 && (
                    <IconButton small icon={Trash2} label={`Remove row ${at + 1}`} onClick={() => edit((e) => removeRow(e, at))} />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </Dialog>
  );
}

function VariableCell({
  at,
  field,
  text,
  problem,
}: {
  at: number;
  field: VariableField;
  text: string | undefined;
  problem: string | undefined;
}) {
  const { readOnly } = usePlayground();
  const edit = useEdit();
  const change = (next: string) => edit((e) => ({ ...e, rows: e.rows.map((row, i) => (i === at ? { ...row, [field.name]: next } : row)) }));
  return (
    <td className="min-w-32 p-0">
      <input
        aria-label={`${field.name} of row ${at + 1}`}
        aria-invalid={problem ? true : undefined}
        title={problem ? `${field.name} ${problem}` : undefined}
        value={text ?? ""}
        readOnly={readOnly}
        onChange={(e) => change(e.target.value)}
        className={cn(
          "h-8 w-full bg-transparent px-2 focus-visible:-outline-offset-2",
          problem && "bg-red-tint shadow-[inset_0_-2px_var(--red-solid)]",
        )}
      />
    </td>
  );
}

/** The state and the beginning of an output; with trials, of the first one. */
function OutputCell({ run, column, row }: { run: Run; column: Column; row: number }) {
  const cells = run.cells.filter((c) => c.column === column.ran && c.row === row);
  const first = cells[0];
  const text = useRunState((s) => (first ? s.followed?.texts.get(first.n)?.text : undefined)) ?? "";
  return (
    <td className="max-w-56 px-2">
      {first && (
        <span className="flex items-center gap-1.5">
          {cells.slice(0, 3).map((c) => (
            <StateGlyph key={c.n} state={cellStates[c.state]} alone />
          ))}
          <span className="truncate text-ink-2">{first.error?.code ?? text.slice(0, 120)}</span>
        </span>
      )}
    </td>
  );
}
