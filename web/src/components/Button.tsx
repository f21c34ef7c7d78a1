import { Loader2, type LucideIcon } from "lucide-react";
import type { ComponentProps, ReactNode } from "react";
import { cn } from "./cn";
import { Kbd } from "./Kbd";
import { Tip } from "./Tooltip";

type Look = "plain" | "accent" | "danger" | "danger-solid" | "ghost";

const looks: Record<Look, string> = {
  plain: "border border-line-2 bg-surface text-ink hover:bg-hover",
  accent: "border border-transparent bg-accent text-on-accent hover:bg-accent-hover",
  danger: "border border-red-line bg-surface text-red hover:bg-red-tint",
  "danger-solid": "border border-transparent bg-red-solid text-on-danger hover:opacity-90",
  ghost: "border border-transparent text-ink-2 hover:bg-hover hover:text-ink",
};

export interface ButtonProps extends Omit<ComponentProps<"button">, "children"> {
  children?: ReactNode;
  look?: Look;
  small?: boolean;
  icon?: LucideIcon;
  /** The key of its shortcut, shown on it. */
  hint?: string;
  /** The server has not answered yet: the button turns and takes no press. */
  busy?: boolean;
}

/** A verb and a noun; "…" when a dialog follows. A page head has at most one with the look accent. */
export function Button({ look = "plain", small, icon: Icon, hint, busy, children, className, disabled, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      aria-busy={busy || undefined}
      disabled={disabled || busy}
      className={cn(
        "inline-flex shrink-0 items-center justify-center gap-1.5 rounded-control font-medium whitespace-nowrap transition-[background-color,opacity] duration-[120ms] disabled:cursor-not-allowed disabled:opacity-60",
        small ? "h-[26px] px-2 text-12" : "h-[30px] px-3 text-13",
        looks[look],
        className,
      )}
      {...rest}
    >
      {busy ? (
        <Loader2 aria-hidden className="size-4 animate-turn" strokeWidth={1.75} />
      ) : (
        Icon && <Icon aria-hidden className="size-4" strokeWidth={1.75} />
      )}
      {children}
      {hint && <Kbd on={look === "accent" ? "accent" : "surface"}>{hint}</Kbd>}
    </button>
  );
}

export interface IconButtonProps extends Omit<ComponentProps<"button">, "children" | "aria-label"> {
  icon: LucideIcon;
  /** Names the button for screen readers and in its tooltip. */
  label: string;
  look?: Look;
  small?: boolean;
  hint?: string;
}

/** A button that shows an icon only. Its label is read aloud and shown on hover. */
export function IconButton({ icon: Icon, label, look = "ghost", small, hint, className, ...rest }: IconButtonProps) {
  return (
    <Tip text={label} hint={hint}>
      <button
        type="button"
        aria-label={label}
        className={cn(
          "inline-flex shrink-0 items-center justify-center rounded-control transition-colors duration-[120ms] disabled:cursor-not-allowed disabled:opacity-60",
          small ? "size-[26px]" : "size-[30px]",
          looks[look],
          className,
        )}
        {...rest}
      >
        <Icon aria-hidden className="size-4" strokeWidth={1.75} />
      </button>
    </Tip>
  );
}
