import { Maximize2, Square } from "lucide-react";
import { Button, IconButton } from "@/components/Button";
import { CopyButton } from "@/components/Copy";
import { cn } from "@/components/cn";
import { StateGlyph } from "@/components/StateGlyph";
import type { Cell } from "../api";
import type { Shown } from "../Dialogs";
import { type Column, letters } from "../setup/editor";
import { useEditor, useLiveText, useRun, useRunState } from "../state";
import type { Acts } from "../useActs";
import { useColumns } from "../useColumns";
import { cellAt, cellStates, cellWord, progressOf } from "./cells";

export interface OutputHeadProps {
  at: number;
  column: Column;
  cell: Cell | undefined;
  acts: Acts | null;
  onDialog: (dialog: Shown) => void;
}

/** The state of the output, its target, Stop, Copy, and the trials. */
export function OutputHead({ at, column, cell, acts, onDialog }: OutputHeadProps) {
  const live = useLiveText(cell?.n);
  const text = live?.text ?? "";
  const { all, ended, open } = useProgress(column.ran);
  return (
    <div className="@container flex h-9 min-w-0 items-center gap-1.5 border-b border-line bg-sunken pr-1.5 pl-3">
      {cell ? (
        <span className="flex min-w-0 items-center gap-2" role="status">
          <StateGlyph state={cellStates[cell.state]} />
          <span className="font-medium">{cellWord(cell, text !== "" || live?.reasoning !== "")}</span>
          {cell.target && <span className="hidden truncate text-12 text-ink-3 @[300px]:inline">{cell.target}</span>}
        </span>
      ) : (
        <span className="text-12 font-medium text-ink-3">Output</span>
      )}
      {all > 1 && (
        <span className="num shrink-0 text-12 text-ink-3" title="Outputs of this column that have ended">
          {ended}/{all}
        </span>
      )}
      <Trials column={column} />
      <span className="ml-auto" />
      {open && acts && (
        <Button
          small
          icon={Square}
          busy={acts.stop.isPending && acts.stop.variables === column.ran}
          aria-label={`Stop column ${letters[at]}`}
          onClick={() => acts.stop.mutate(column.ran)}
        >
          Stop
        </Button>
      )}
      {text !== "" && <CopyButton text={text} label={`Copy the output of column ${letters[at]}`} />}
      {cell && (
        <IconButton
          small
          icon={Maximize2}
          label={`Open the output of column ${letters[at]}`}
          onClick={() => onDialog({ kind: "output", column: at })}
        />
      )}
    </div>
  );
}

function useProgress(column: number | null) {
  const text = useRunState((s) => JSON.stringify(progressOf(s.followed?.run ?? null, column))); // a string is the same while nothing changes
  return JSON.parse(text) as ReturnType<typeof progressOf>;
}

/** One button for each trial of the shown row; all columns show the same trial. */
function Trials({ column }: { column: Column }) {
  const run = useRun();
  const row = useEditor((e) => e.row);
  const { trial, setTrial } = useColumns();
  const count = run?.setup.trials ?? 1;
  if (count < 2 || column.ran === null) return null;
  return (
    <span role="radiogroup" aria-label="Trial" className="flex min-w-0 overflow-x-auto">
      {Array.from({ length: count }, (_, n) => {
        const cell = cellAt(run, column.ran, row, n);
        return (
          // biome-ignore lint/a11y/useSemanticElements: a radio input cannot show the state of the trial.
          <button
            // biome-ignore lint/suspicious/noArrayIndexKey: the number is the trial.
            key={n}
            type="button"
            role="radio"
            aria-checked={n === trial}
            aria-label={`Trial ${n + 1}${cell ? `, ${cellWord(cell, true)}` : ""}`}
            onClick={() => setTrial(n)}
            className={cn(
              "num flex h-6 min-w-6 items-center justify-center rounded-chip px-1 text-12",
              n === trial ? "bg-surface font-medium text-ink ring-1 ring-line-2" : "text-ink-2 hover:text-ink",
              cell?.state === "failed" && "text-red",
            )}
          >
            {n + 1}
          </button>
        );
      })}
    </span>
  );
}
