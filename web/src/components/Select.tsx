import { ChevronDown } from "lucide-react";
import { cn } from "./cn";
import { useFieldControl } from "./Field";

export interface Choice<V extends string> {
  value: V;
  label: string;
}

export interface SelectProps<V extends string> {
  /** Names the control for screen readers, with or without a Field around it. */
  label: string;
  value: V;
  choices: readonly Choice<V>[];
  onChange: (value: V) => void;
  small?: boolean;
  disabled?: boolean;
  className?: string;
}

/** One choice out of a list: the browser's own control, which phones show as their own list. */
export function Select<V extends string>({ label, value, choices, onChange, small, disabled, className }: SelectProps<V>) {
  return (
    <span className={cn("relative inline-flex", className)}>
      <select
        {...useFieldControl()}
        aria-label={label}
        value={value}
        disabled={disabled}
        onChange={(e) => onChange(e.target.value as V)}
        className={cn(
          "select w-full min-w-0 truncate rounded-control border border-control bg-surface pr-8 pl-2.5 text-13 text-ink hover:bg-hover disabled:opacity-60",
          small ? "h-[26px]" : "h-[30px]",
        )}
      >
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.label}
          </option>
        ))}
      </select>
      <ChevronDown
        aria-hidden
        className="pointer-events-none absolute top-1/2 right-2 size-4 -translate-y-1/2 text-ink-3"
        strokeWidth={1.75}
      />
    </span>
  );
}
