import { Popover as Base } from "@base-ui/react/popover";
import type { ReactElement, ReactNode } from "react";
import { cn } from "./cn";

export interface PopoverProps {
  trigger: ReactElement<Record<string, unknown>>;
  /** Names the popover for screen readers. */
  label: string;
  children: ReactNode;
  open?: boolean;
  onOpenChange?: (open: boolean) => void;
  align?: "start" | "center" | "end";
  className?: string;
}

/** A small form or more detail under a button. */
export function Popover({ trigger, label, children, open, onOpenChange, align = "start", className }: PopoverProps) {
  return (
    <Base.Root {...(open === undefined ? {} : { open })} {...(onOpenChange ? { onOpenChange } : {})}>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner align={align} sideOffset={4} className="z-50">
          <Base.Popup
            aria-label={label}
            className={cn("popup rounded-card border border-line bg-raised p-3 shadow-float outline-none", className)}
          >
            {children}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
