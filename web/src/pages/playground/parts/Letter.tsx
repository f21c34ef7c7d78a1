import { type Hue, hueChip } from "@/components/Chip";
import { cn } from "@/components/cn";
import { letters } from "../setup/editor";

const hues: readonly Hue[] = ["slate", "violet", "water", "amber"];

/** The letter of a column. */
export function Letter({ at }: { at: number }) {
  return (
    <span
      aria-hidden
      className={cn(
        "inline-flex size-5 shrink-0 items-center justify-center rounded-chip text-11 font-semibold",
        hueChip[hues[at] ?? "slate"],
      )}
    >
      {letters[at]}
    </span>
  );
}
