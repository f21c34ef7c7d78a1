import { Dialog as Base } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { cn } from "./cn";

export interface DialogProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: ReactNode;
  description?: ReactNode;
  children?: ReactNode;
  /** Buttons at the bottom, the main one last. */
  footer?: ReactNode;
  wide?: boolean;
}

/** A question or a form above the page. Escape closes it and focus returns. */
export function Dialog({ open, onOpenChange, title, description, children, footer, wide }: DialogProps) {
  return (
    <Base.Root open={open} onOpenChange={onOpenChange}>
      <Base.Portal>
        <Base.Backdrop className="popup fixed inset-0 z-40 bg-[rgb(11_15_17/40%)]" />
        <Base.Popup
          className={cn(
            "popup fixed top-[12vh] left-1/2 z-50 flex max-h-[76vh] w-[calc(100vw-2rem)] -translate-x-1/2 flex-col rounded-dialog border border-line bg-raised shadow-float outline-none",
            wide ? "max-w-3xl" : "max-w-md",
          )}
        >
          <div className="flex items-start gap-2 px-5 pt-4 pb-2">
            <div className="min-w-0 flex-1">
              <Base.Title className="text-16 font-semibold">{title}</Base.Title>
              {description && <Base.Description className="mt-1 text-13 text-ink-2">{description}</Base.Description>}
            </div>
            <Base.Close
              aria-label="Close"
              className="-mr-1.5 inline-flex size-[26px] items-center justify-center rounded-control text-ink-3 hover:bg-hover"
            >
              <X aria-hidden className="size-4" strokeWidth={1.75} />
            </Base.Close>
          </div>
          <div className="min-h-0 flex-1 overflow-y-auto px-5 py-2">{children}</div>
          {footer && <div className="flex justify-end gap-2 border-t border-line px-5 py-3">{footer}</div>}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
