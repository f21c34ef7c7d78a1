import { Tooltip } from "@base-ui/react/tooltip";
import type { ReactElement, ReactNode } from "react";
import { Kbd } from "./Kbd";

export interface TipProps {
  text: ReactNode;
  hint?: string | undefined;
  /** The element that the tooltip is about; it takes focus or hover. */
  children: ReactElement<Record<string, unknown>>;
  side?: "top" | "bottom" | "left" | "right";
}

/** A tooltip: the exact value or the name of an icon. It never holds the only copy of a fact that a person must know. */
export function Tip({ text, hint, children, side = "bottom" }: TipProps) {
  return (
    <Tooltip.Root>
      <Tooltip.Trigger render={children} />
      <Tooltip.Portal>
        <Tooltip.Positioner side={side} sideOffset={6} className="z-50">
          <Tooltip.Popup className="popup flex max-w-80 items-center gap-2 rounded-control border border-line bg-raised px-2 py-1 text-12 text-ink shadow-float">
            {text}
            {hint && <Kbd>{hint}</Kbd>}
          </Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}

export const TooltipProvider = Tooltip.Provider;
