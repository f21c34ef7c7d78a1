import { Menu as Base } from "@base-ui/react/menu";
import { Check, type LucideIcon } from "lucide-react";
import type { ReactElement, ReactNode } from "react";
import { cn } from "./cn";
import { Kbd } from "./Kbd";

export interface MenuProps {
  /** The button that opens the menu. */
  trigger: ReactElement<Record<string, unknown>>;
  children: ReactNode;
  align?: "start" | "center" | "end";
  className?: string;
}

const itemLook =
  "flex min-h-[30px] w-full items-center gap-2 rounded-control px-2 text-left text-13 outline-none data-[disabled]:text-ink-4 data-[highlighted]:bg-hover";

/** A menu of actions under a button. */
export function Menu({ trigger, children, align = "end", className }: MenuProps) {
  return (
    <Base.Root>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner align={align} sideOffset={4} className="z-50">
          <Base.Popup
            className={cn(
              "popup max-h-(--available-height) min-w-48 overflow-y-auto rounded-card border border-line bg-raised p-1 shadow-float outline-none",
              className,
            )}
          >
            {children}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

export interface MenuItemProps {
  children: ReactNode;
  icon?: LucideIcon;
  onSelect?: () => void;
  danger?: boolean;
  disabled?: boolean;
  checked?: boolean;
  hint?: string;
  /** An element that acts instead of onSelect, such as a Link. */
  render?: ReactElement<Record<string, unknown>>;
}

export function MenuItem({ children, icon: Icon, onSelect, danger, disabled = false, checked, hint, render }: MenuItemProps) {
  return (
    <Base.Item
      disabled={disabled}
      onClick={() => onSelect?.()}
      className={cn(itemLook, danger ? "text-red" : "text-ink")}
      {...(render ? { render } : {})}
    >
      {Icon && <Icon aria-hidden className={cn("size-4", !danger && "text-ink-3")} strokeWidth={1.75} />}
      <span className="min-w-0 flex-1 truncate">{children}</span>
      {hint && <Kbd>{hint}</Kbd>}
      {checked && <Check aria-hidden className="size-4 text-accent" strokeWidth={1.75} />}
    </Base.Item>
  );
}

export function MenuCheckItem({
  children,
  checked,
  onChange,
}: {
  children: ReactNode;
  checked: boolean;
  onChange: (checked: boolean) => void;
}) {
  return (
    <Base.CheckboxItem checked={checked} onCheckedChange={onChange} closeOnClick={false} className={cn(itemLook, "text-ink")}>
      <span className="flex size-4 items-center justify-center">
        <Base.CheckboxItemIndicator>
          <Check aria-hidden className="size-4 text-accent" strokeWidth={1.75} />
        </Base.CheckboxItemIndicator>
      </span>
      <span className="flex-1">{children}</span>
    </Base.CheckboxItem>
  );
}

/** One choice of several inside a menu. */
export function MenuChoice<V extends string>(props: {
  label: string;
  value: V;
  choices: readonly { value: V; label: string }[];
  onChange: (value: V) => void;
}) {
  return (
    <Base.RadioGroup value={props.value} onValueChange={props.onChange} aria-label={props.label}>
      <div className="px-2 pt-1.5 pb-0.5 text-12 text-ink-3">{props.label}</div>
      {props.choices.map((choice) => (
        <Base.RadioItem key={choice.value} value={choice.value} closeOnClick={false} className={cn(itemLook, "text-ink")}>
          <span className="flex-1">{choice.label}</span>
          <Base.RadioItemIndicator>
            <Check aria-hidden className="size-4 text-accent" strokeWidth={1.75} />
          </Base.RadioItemIndicator>
        </Base.RadioItem>
      ))}
    </Base.RadioGroup>
  );
}

export function MenuSeparator() {
  return <Base.Separator className="my-1 h-px bg-line" />;
}
