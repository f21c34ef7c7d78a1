import { ChevronLeft, ChevronRight, Ellipsis, FileUp, Plus, Table2, Trash2 } from "lucide-react";
import { useRef } from "react";
import { IconButton } from "@/components/Button";
import { Menu, MenuItem, MenuSeparator } from "@/components/Menu";
import type { Shown } from "../Dialogs";
import { addRow, removeRow, setVariable, showRow } from "../setup/editor";
import { maxRows } from "../setup/rows";
import { valuesOfRow } from "../setup/variables";
import { useEdit, useEditor, usePlayground } from "../state";
import { useColumns } from "../useColumns";
import { OfColumns, PaneBlock } from "./SetupPane";
import { VariableInput } from "./VariableInput";

/** The form of the variables, from the schemas of the prompts: one row at a time. Files with rows can be dropped on it. */
export function VariablesForm({ onDialog }: { onDialog: (dialog: Shown) => void }) {
  const { readOnly } = usePlayground();
  const { fields } = useColumns();
  const edit = useEdit();
  const row = useEditor((e) => e.rows[e.row]) ?? {};
  const { problems } = valuesOfRow(fields, row);
  return (
    <section
      aria-label="Variables"
      onDragOver={(e) => !readOnly && e.preventDefault()}
      onDrop={(e) => {
        const file = e.dataTransfer.files[0];
        if (!file || readOnly) return;
        e.preventDefault();
        onDialog({ kind: "import", file });
      }}
      className="border-b border-line"
    >
      <PaneBlock title="Variables" note={<RowNavigator />} action={!readOnly && <RowsMenu onDialog={onDialog} />}>
        {fields.length === 0 && (
          <p className="text-12 text-ink-3">
            The prompts have no variables. Write <span className="font-mono text-violet">{"{{name}}"}</span> into a message to add one.
          </p>
        )}
        <div className="flex flex-col gap-2.5">
          {fields.map((field) => (
            <div key={field.name} className="flex flex-col gap-1">
              <div className="flex items-baseline gap-2">
                <label htmlFor={`variable-${field.name}`} className="min-w-0 truncate font-mono text-12 font-medium text-violet">
                  {field.name}
                </label>
                <span className="ml-auto flex shrink-0 gap-1.5 text-11 text-ink-3">
                  <OfColumns columns={field.columns} />
                  {field.kind === "any" ? "any" : field.kind}
                  {!field.required && " · optional"}
                </span>
              </div>
              <VariableInput
                id={`variable-${field.name}`}
                field={field}
                text={row[field.name]}
                readOnly={readOnly}
                problem={row[field.name] === undefined ? undefined : problems[field.name]}
                missing={!readOnly && row[field.name] === undefined && problems[field.name] !== undefined}
                onChange={(text) => edit((e) => setVariable(e, field.name, text))}
              />
            </div>
          ))}
        </div>
      </PaneBlock>
    </section>
  );
}

/** `2 / 40` and the steps between rows. One row has none. */
function RowNavigator() {
  const row = useEditor((e) => e.row);
  const rows = useEditor((e) => e.rows.length);
  const edit = useEdit();
  if (rows < 2) return null;
  return (
    <span className="flex items-center">
      <span className="num text-12">
        <span className="sr-only">Row </span>
        {row + 1} / {rows}
      </span>
      <IconButton small icon={ChevronLeft} label="Previous row" disabled={row === 0} onClick={() => edit((e) => showRow(e, row - 1))} />
      <IconButton small icon={ChevronRight} label="Next row" disabled={row === rows - 1} onClick={() => edit((e) => showRow(e, row + 1))} />
    </span>
  );
}

function RowsMenu({ onDialog }: { onDialog: (dialog: Shown) => void }) {
  const edit = useEdit();
  const rows = useEditor((e) => e.rows.length);
  const row = useEditor((e) => e.row);
  const { fields } = useColumns();
  const files = useRef<HTMLInputElement>(null);
  return (
    <>
      <Menu trigger={<IconButton small icon={Ellipsis} label="Rows" />}>
        <MenuItem icon={Plus} disabled={rows >= maxRows} onSelect={() => edit(addRow)}>
          Add row
        </MenuItem>
        <MenuItem icon={FileUp} disabled={fields.length === 0} onSelect={() => files.current?.click()}>
          Load rows from a file…
        </MenuItem>
        <MenuItem icon={Table2} onSelect={() => onDialog({ kind: "rows" })}>
          Show all rows…
        </MenuItem>
        {rows > 1 && (
          <>
            <MenuSeparator />
            <MenuItem icon={Trash2} onSelect={() => edit((e) => removeRow(e, row))}>
              Remove row {row + 1}
            </MenuItem>
          </>
        )}
      </Menu>
      <input
        ref={files}
        type="file"
        hidden
        accept=".csv,.tsv,.jsonl,.ndjson,.json,text/csv"
        aria-label="File with rows"
        onChange={(e) => {
          const file = e.target.files?.[0];
          if (file) onDialog({ kind: "import", file });
          e.target.value = "";
        }}
      />
    </>
  );
}
