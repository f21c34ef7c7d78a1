import { Select as Base } from "@base-ui/react/select";
import { Check, ChevronDown } from "lucide-react";
import type { ReactNode } from "react";
import { cn } from "./cn";

export interface Choice<V extends string> {
  value: V;
  label: string;
  icon?: ReactNode;
}

export interface SelectProps<V extends string> {
  /** Names the control for screen readers, where no Field does. */
  label?: string;
  value: V;
  choices: readonly Choice<V>[];
  onChange: (value: V) => void;
  small?: boolean;
  disabled?: boolean;
  className?: string;
}

/** One choice out of a list. */
export function Select<V extends string>({ label, value, choices, onChange, small, disabled, className }: SelectProps<V>) {
  return (
    <Base.Root items={choices.slice()} value={value} onValueChange={(v) => v !== null && onChange(v as V)} disabled={disabled ?? false}>
      <Base.Trigger
        aria-label={label}
        className={cn(
          "inline-flex items-center justify-between gap-2 rounded-control border border-control bg-surface px-2.5 text-13 text-ink hover:bg-hover disabled:opacity-60",
          small ? "h-[26px]" : "h-[30px]",
          className,
        )}
      >
        <Base.Value />
        <Base.Icon>
          <ChevronDown aria-hidden className="size-4 text-ink-3" strokeWidth={1.75} />
        </Base.Icon>
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner sideOffset={4} alignItemWithTrigger={false} className="z-50">
          <Base.Popup className="popup max-h-80 min-w-(--anchor-width) overflow-y-auto rounded-card border border-line bg-raised p-1 shadow-float outline-none">
            {choices.map((choice) => (
              <Base.Item
                key={choice.value}
                value={choice.value}
                className="flex h-[30px] items-center gap-2 rounded-control px-2 text-13 text-ink outline-none data-[highlighted]:bg-hover"
              >
                {choice.icon}
                <Base.ItemText className="flex-1">{choice.label}</Base.ItemText>
                <Base.ItemIndicator>
                  <Check aria-hidden className="size-4 text-accent" strokeWidth={1.75} />
                </Base.ItemIndicator>
              </Base.Item>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
