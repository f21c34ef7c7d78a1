import { Checkbox } from "@/components/Checkbox";
import { letters } from "../setup/editor";
import { useEditor } from "../state";

/** The columns that a tool or a schema belongs to. */
export function ColumnChoice({ chosen, onChange }: { chosen: readonly number[]; onChange: (columns: number[]) => void }) {
  const count = useEditor((e) => e.columns.length);
  if (count === 1) return null;
  return (
    <fieldset className="flex flex-wrap gap-x-4">
      <legend className="mb-1 text-12 font-medium text-ink-2">Columns</legend>
      {letters.slice(0, count).map((letter, at) => (
        <Checkbox
          key={letter}
          label={letter}
          showLabel
          checked={chosen.includes(at)}
          onChange={(on) => onChange(on ? [...chosen, at].sort() : chosen.filter((c) => c !== at))}
        />
      ))}
    </fieldset>
  );
}
