import { ChevronDown } from "lucide-react";
import { useEffect, useState } from "react";
import { cn } from "@/components/cn";
import { Picker, type PickerEntry } from "@/components/Picker";
import { Popover } from "@/components/Popover";
import { matchOf } from "@/frame/palette";
import { type Column, letters, withColumn } from "../setup/editor";
import { useEdit, usePlayground } from "../state";
import { useColumns } from "../useColumns";

/** The model of a column. Any name can be typed: a server may serve names that it does not list. */
export function ModelPicker({ at, column }: { at: number; column: Column }) {
  const { readOnly } = usePlayground();
  const { models, effective, prompts } = useColumns();
  const edit = useEdit();
  const [open, setOpen] = useState(false);
  const [typed, setTyped] = useState("");
  const model = effective[at]?.model ?? null;
  const first = models[0];
  const needs = !readOnly && model === null && column.source.from === "text" && first !== undefined;
  useEffect(() => {
    if (needs) edit((e) => withColumn(e, at, { model: first }));
  }, [needs, first, at, edit]);

  const differs = at > 0 && effective[0] !== undefined && model !== effective[0].model;
  if (readOnly) return <span className={cn("max-w-32 truncate text-12", differs ? "text-amber" : "text-ink-2")}>{model}</span>;
  const choose = (name: string | null) => () => edit((e) => withColumn(e, at, { model: name }));
  const ofPrompt = prompts[at]?.config.model;
  const entries: PickerEntry[] = [
    ...(typeof ofPrompt === "string" && typed === ""
      ? [{ id: "prompt", title: ofPrompt, note: "of the prompt", checked: column.model === null, run: choose(null) }]
      : []),
    ...models
      .filter((name) => matchOf(name.replaceAll(/[-.:]/g, " "), typed.replaceAll(/[-.:]/g, " ")) !== null || name.includes(typed))
      .map((name) => ({ id: `m-${name}`, title: name, checked: column.model === name, run: choose(name) })),
  ].slice(0, 100);
  const name = typed.trim();
  if (name !== "" && !models.includes(name)) entries.push({ id: "typed", title: name, note: "use this name", run: choose(name) });
  return (
    <Popover
      label={`Models for column ${letters[at]}`}
      open={open}
      onOpenChange={setOpen}
      align="end"
      className="w-72 overflow-hidden p-0!"
      trigger={
        <button
          type="button"
          className={cn(
            "inline-flex h-[26px] max-w-32 min-w-0 shrink-0 items-center gap-1 rounded-control border px-2 text-12 font-medium hover:bg-hover",
            differs ? "border-amber-line bg-amber-tint text-amber" : "border-line-2 bg-surface",
          )}
        >
          <span className="sr-only">Model of column {letters[at]}:</span>
          <span className="truncate">{model ?? "Model"}</span>
          <ChevronDown aria-hidden className="size-3.5 shrink-0 text-ink-3" strokeWidth={1.75} />
        </button>
      }
    >
      <Picker
        label="Models"
        placeholder="A model…"
        typed={typed}
        onType={setTyped}
        entries={entries}
        note={entries.length === 0 ? "The tenant has no models. An operator adds them in the configuration." : undefined}
        onDone={() => {
          setOpen(false);
          setTyped("");
        }}
      />
    </Popover>
  );
}
