import { X } from "lucide-react";
import { type ReactNode, useEffect, useEffectEvent } from "react";
import { IconButton } from "./Button";

export interface PeekProps {
  /** Names the pane for screen readers. */
  label: string;
  title: ReactNode;
  /** Buttons and links at the right of the title. */
  actions?: ReactNode;
  children: ReactNode;
  onClose: () => void;
}

/** A pane beside a list with the details of the current row. The list keeps the focus, so j and k go on. Esc closes it. */
export function Peek({ label, title, actions, children, onClose }: PeekProps) {
  const close = useEffectEvent(onClose);
  useEffect(() => {
    // Before the shortcuts of the list, where Esc clears the current row.
    const listen = (event: KeyboardEvent) => {
      const typing = event.target instanceof Element && event.target.closest("input,textarea,[role=textbox]");
      if (event.key !== "Escape" || typing || document.querySelector("[data-open]:is([role=dialog],[role=menu],[role=listbox])")) return;
      event.preventDefault();
      close();
    };
    window.addEventListener("keydown", listen, { capture: true });
    return () => window.removeEventListener("keydown", listen, { capture: true });
  }, []);
  return (
    <aside
      aria-label={label}
      className="flex min-h-0 shrink-0 flex-col border-line bg-sunken max-lg:fixed max-lg:inset-x-0 max-lg:bottom-0 max-lg:z-30 max-lg:max-h-[70dvh] max-lg:border-t max-lg:shadow-float lg:w-[400px] lg:border-t lg:border-l"
    >
      <div className="flex min-h-11 items-center gap-2 border-b border-line px-5 py-1.5">
        <div className="flex min-w-0 flex-1 items-center gap-2">{title}</div>
        {actions}
        <IconButton small icon={X} label="Close" hint="Esc" onClick={onClose} />
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto">{children}</div>
    </aside>
  );
}
