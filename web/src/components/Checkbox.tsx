import { Check, Minus } from "lucide-react";
import { useEffect, useRef } from "react";
import { cn } from "./cn";

export interface CheckboxProps {
  label: string;
  checked: boolean;
  some?: boolean; // some of many are checked
  onChange: (checked: boolean) => void;
  /** Shows the label beside the box; otherwise it is read aloud only. */
  showLabel?: boolean;
  disabled?: boolean;
}

export function Checkbox({ label, checked, some = false, onChange, showLabel, disabled = false }: CheckboxProps) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (input.current) input.current.indeterminate = some; // there is no attribute for it
  }, [some]);
  const Mark = some ? Minus : Check;
  const box = (
    <span className="relative flex size-[14px] shrink-0">
      <input
        ref={input}
        type="checkbox"
        aria-label={showLabel ? undefined : label}
        checked={checked}
        disabled={disabled}
        onChange={(e) => onChange(e.target.checked)}
        className={cn(
          "relative size-full appearance-none rounded-[3px] border border-control bg-surface before:absolute before:-inset-[6px] before:content-[''] disabled:opacity-60",
          "checked:border-accent checked:bg-accent indeterminate:border-accent indeterminate:bg-accent",
        )}
      />
      {(checked || some) && <Mark aria-hidden className="pointer-events-none absolute inset-px size-3 text-on-accent" strokeWidth={2.5} />}
    </span>
  );
  if (!showLabel) return box;
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the box is the control.
    <label className="inline-flex min-h-6 cursor-pointer items-center gap-2 text-13">
      {box}
      {label}
    </label>
  );
}

export interface SwitchProps {
  label: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
  disabled?: boolean;
}

/** On or off, at once. */
export function Switch({ label, checked, onChange, disabled = false }: SwitchProps) {
  return (
    <input
      type="checkbox"
      role="switch"
      aria-label={label}
      aria-checked={checked}
      checked={checked}
      disabled={disabled}
      onChange={(e) => onChange(e.target.checked)}
      className={cn(
        "relative h-4 w-7 shrink-0 appearance-none rounded-full bg-slate-solid transition-colors duration-[120ms] checked:bg-accent disabled:opacity-60",
        "before:absolute before:-inset-1 before:content-['']",
        "after:absolute after:top-0.5 after:left-0.5 after:size-3 after:rounded-full after:bg-surface after:transition-transform after:duration-[120ms] checked:after:translate-x-3",
      )}
    />
  );
}
