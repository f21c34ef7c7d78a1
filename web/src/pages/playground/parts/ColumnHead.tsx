import { Braces, Code2, Copy, Ellipsis, GitCompareArrows, Save, SlidersHorizontal, Trash2 } from "lucide-react";
import { IconButton } from "@/components/Button";
import { Menu, MenuItem, MenuSeparator } from "@/components/Menu";
import type { Shown } from "../Dialogs";
import { addColumn, type Column, copySettings, letters, maxColumns, removeColumn } from "../setup/editor";
import { useEdit, useEditor, usePlayground } from "../state";
import { Letter } from "./Letter";
import { ModelPicker } from "./ModelPicker";
import { PromptPicker } from "./PromptPicker";

/** The letter, the prompt, the model, and the acts on a column. */
export function ColumnHead({ at, column, onDialog }: { at: number; column: Column; onDialog: (dialog: Shown) => void }) {
  const { readOnly } = usePlayground();
  return (
    <div className="flex h-12 min-w-0 items-center gap-2 border-b border-line px-3">
      <Letter at={at} />
      <PromptPicker at={at} column={column} />
      <ModelPicker at={at} column={column} />
      {!readOnly && <ColumnMenu at={at} column={column} onDialog={onDialog} />}
    </div>
  );
}

function ColumnMenu({ at, column, onDialog }: { at: number; column: Column; onDialog: (dialog: Shown) => void }) {
  const edit = useEdit();
  const count = useEditor((e) => e.columns.length);
  const other = at === 0 ? 1 : 0;
  return (
    <Menu trigger={<IconButton small icon={Ellipsis} label={`Actions of column ${letters[at]}`} />} className="min-w-60">
      <MenuItem icon={Copy} disabled={count >= maxColumns} onSelect={() => edit((e) => addColumn(e, at))}>
        Copy column
      </MenuItem>
      {count > 1 && (
        <>
          <MenuItem icon={SlidersHorizontal} onSelect={() => edit((e) => copySettings(e, at))}>
            Use these settings in all columns
          </MenuItem>
          <MenuItem icon={GitCompareArrows} onSelect={() => onDialog({ kind: "compare", columns: at === 0 ? [0, other] : [other, at] })}>
            Compare outputs…
          </MenuItem>
        </>
      )}
      {column.source.from === "text" && (
        <MenuItem icon={Braces} onSelect={() => onDialog({ kind: "variables", column: at })}>
          Schema of the variables…
        </MenuItem>
      )}
      <MenuSeparator />
      <MenuItem icon={Code2} onSelect={() => onDialog({ kind: "code", column: at })}>
        Export as code…
      </MenuItem>
      <MenuItem icon={Save} onSelect={() => onDialog({ kind: "save", column: at })}>
        Save as prompt version…
      </MenuItem>
      {count > 1 && (
        <>
          <MenuSeparator />
          <MenuItem icon={Trash2} danger onSelect={() => edit((e) => removeColumn(e, at))}>
            Remove column
          </MenuItem>
        </>
      )}
    </Menu>
  );
}
