import { memo } from "react";
import type { Shown } from "../Dialogs";
import { Marks } from "../output/Marks";
import { Metrics } from "../output/Metrics";
import { Output } from "../output/Output";
import { OutputHead } from "../output/OutputHead";
import { useShownCell } from "../output/useShownCell";
import { type Column, letters } from "../setup/editor";
import type { Acts } from "../useActs";
import { ColumnHead } from "./ColumnHead";
import { PromptPart } from "./PromptPart";
import { SettingsLine } from "./SettingsLine";

export interface ColumnProps {
  at: number;
  column: Column;
  acts: Acts | null;
  onDialog: (dialog: Shown) => void;
}

/** One column: prompt, model, settings, text, output, figures, rating. */
export const ColumnView = memo(function ColumnView({ at, column, acts, onDialog }: ColumnProps) {
  const cell = useShownCell(column);
  return (
    <section
      aria-label={`Column ${letters[at]}`}
      className="flex min-w-0 flex-col border-line md:row-span-7 md:grid md:grid-rows-subgrid md:border-l md:first:border-l-0"
    >
      <ColumnHead at={at} column={column} onDialog={onDialog} />
      <SettingsLine at={at} column={column} />
      <PromptPart at={at} column={column} onDialog={onDialog} />
      <OutputHead at={at} column={column} cell={cell} acts={acts} onDialog={onDialog} />
      <Output at={at} column={column} cell={cell} acts={acts} />
      <Metrics cell={cell} />
      <Marks at={at} cell={cell} onDialog={onDialog} />
    </section>
  );
});
