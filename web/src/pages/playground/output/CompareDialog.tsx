import { useMemo, useState } from "react";
import { cn } from "@/components/cn";
import { Dialog } from "@/components/Dialog";
import { Select } from "@/components/Select";
import { indentJson } from "@/format";
import { letters } from "../setup/editor";
import { useEditor, useLiveText } from "../state";
import { useShownCell } from "./useShownCell";
import { comparedWords } from "./words";

/** The outputs of two columns as one text: − only the first has it, + only the second. */
export function CompareDialog({ columns, onClose }: { columns: [number, number]; onClose: () => void }) {
  const count = useEditor((e) => e.columns.length);
  const [[first, second], setPair] = useState(columns);
  const before = useOutput(first);
  const after = useOutput(second);
  const words = useMemo(() => comparedWords(before, after), [before, after]);
  const choices = letters.slice(0, count).map((letter, at) => ({ value: String(at), label: `Column ${letter}` }));
  return (
    <Dialog open wide onOpenChange={(open) => !open && onClose()} title="Compare outputs">
      <div className="flex flex-col gap-3 pb-4">
        <div className="flex items-center gap-2">
          <Select label="First column" value={String(first)} choices={choices} onChange={(at) => setPair([Number(at), second])} />
          <span className="text-ink-3">and</span>
          <Select label="Second column" value={String(second)} choices={choices} onChange={(at) => setPair([first, Number(at)])} />
          <span className="ml-auto text-12 text-ink-3">
            <span className="text-red">−</span> only in {letters[first]}, <span className="text-green">+</span> only in {letters[second]}
          </span>
        </div>
        <section
          aria-label={`Difference of the outputs of column ${letters[first]} and column ${letters[second]}`}
          tabIndex={0}
          className="max-h-[52vh] overflow-y-auto rounded-card border border-line bg-sunken p-3 text-14 break-words whitespace-pre-wrap"
        >
          {words.map((part, i) => {
            const Tag = part.kind === "add" ? "ins" : part.kind === "del" ? "del" : "span";
            return (
              <Tag
                // biome-ignore lint/suspicious/noArrayIndexKey: parts repeat, and their order is their identity.
                key={i}
                className={cn(
                  part.kind === "add" && "rounded-[3px] bg-diff-add text-green no-underline",
                  part.kind === "del" && "rounded-[3px] bg-diff-del text-red",
                )}
              >
                {part.kind === "add" && "+"}
                {part.kind === "del" && "−"}
                {part.text}
              </Tag>
            );
          })}
          {before === "" && after === "" && <p className="text-ink-3">Neither column has an output in this row.</p>}
        </section>
      </div>
    </Dialog>
  );
}

function useOutput(column: number): string {
  const ran = useEditor((e) => e.columns[column]?.ran ?? null);
  const cell = useShownCell({ ran });
  return indentJson(useLiveText(cell?.n)?.text ?? "");
}
