import { Columns3 } from "lucide-react";
import { Button } from "../Button";
import { Menu, MenuCheckItem } from "../Menu";
import { type Column, shownColumns } from "./column";

export interface ColumnPickerProps<T> {
  columns: readonly Column<T>[];
  shown: readonly string[] | undefined;
  onChange: (shown: string[]) => void;
}

/** Chooses the columns. The choice is a part of the URL. */
export function ColumnPicker<T>({ columns, shown, onChange }: ColumnPickerProps<T>) {
  const now = shownColumns(columns, shown);
  return (
    <Menu trigger={<Button icon={Columns3}>Columns</Button>}>
      {columns
        .filter((c) => !c.fixed)
        .map((c) => (
          <MenuCheckItem
            key={c.id}
            checked={now.includes(c.id)}
            onChange={(on) => onChange(on ? [...now, c.id] : now.filter((id) => id !== c.id))}
          >
            {c.header}
          </MenuCheckItem>
        ))}
    </Menu>
  );
}
