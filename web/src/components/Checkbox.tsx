import { Checkbox as Base } from "@base-ui/react/checkbox";
import { Switch as BaseSwitch } from "@base-ui/react/switch";
import { Check, Minus } from "lucide-react";
import { cn } from "./cn";

export interface CheckboxProps {
  label: string;
  checked: boolean;
  some?: boolean; // some of many are checked
  onChange: (checked: boolean, event: Event) => void;
  /** Shows the label beside the box; otherwise it is read aloud only. */
  showLabel?: boolean;
  disabled?: boolean;
  tabIndex?: number;
}

export function Checkbox({ label, checked, some = false, onChange, showLabel, disabled = false, tabIndex }: CheckboxProps) {
  const box = (
    <Base.Root
      aria-label={label}
      checked={checked}
      indeterminate={some}
      disabled={disabled}
      {...(tabIndex === undefined ? {} : { tabIndex })}
      onCheckedChange={(value, details) => onChange(value, details.event)}
      className={cn(
        "relative flex size-[14px] shrink-0 items-center justify-center rounded-[3px] border border-control bg-surface before:absolute before:-inset-[5px] before:content-['']",
        "data-[checked]:border-accent data-[checked]:bg-accent data-[indeterminate]:border-accent data-[indeterminate]:bg-accent disabled:opacity-60",
      )}
    >
      <Base.Indicator className="text-on-accent">
        {some ? <Minus aria-hidden className="size-3" strokeWidth={2.5} /> : <Check aria-hidden className="size-3" strokeWidth={2.5} />}
      </Base.Indicator>
    </Base.Root>
  );
  if (!showLabel) return box;
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the checkbox of Base UI is the control.
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
    <BaseSwitch.Root
      aria-label={label}
      checked={checked}
      disabled={disabled}
      onCheckedChange={onChange}
      className="relative h-4 w-7 shrink-0 rounded-full bg-slate-solid transition-colors duration-[120ms] before:absolute before:-inset-1 before:content-[''] disabled:opacity-60 data-[checked]:bg-accent"
    >
      <BaseSwitch.Thumb className="block size-3 translate-x-0.5 rounded-full bg-surface transition-transform duration-[120ms] data-[checked]:translate-x-3.5" />
    </BaseSwitch.Root>
  );
}
