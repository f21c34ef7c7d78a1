import type { ReactNode } from "react";
import { cn } from "./cn";

export interface Tab<V extends string> {
  value: V;
  label: ReactNode;
  count?: ReactNode;
  icon?: ReactNode;
}

export interface TabsProps<V extends string> {
  label: string;
  value: V;
  tabs: readonly Tab<V>[];
  onChange: (value: V) => void;
  className?: string;
  /** At the right end of the line. */
  aside?: ReactNode;
}

/**
 * Tabs whose choice is a part of the URL. They are a list of toggle buttons and not the tab pattern of ARIA, because the list below is one list that
 * they filter, and no panel of theirs is hidden.
 */
export function Tabs<V extends string>({ label, value, tabs, onChange, className, aside }: TabsProps<V>) {
  return (
    <div className={cn("flex items-center border-b border-line", className)}>
      <nav aria-label={label} className="-mb-px flex min-w-0 flex-1 gap-4 overflow-x-auto">
        {tabs.map((tab) => (
          <button
            key={tab.value}
            type="button"
            aria-current={tab.value === value ? "true" : undefined}
            onClick={() => onChange(tab.value)}
            className={cn(
              "flex h-9 shrink-0 items-center gap-1.5 border-b-2 text-13 whitespace-nowrap focus-visible:-outline-offset-2",
              tab.value === value ? "border-accent font-medium text-ink" : "border-transparent text-ink-2 hover:text-ink",
            )}
          >
            {tab.icon}
            {tab.label}
            {tab.count !== undefined && <span className="num text-12 font-normal text-ink-3">{tab.count}</span>}
          </button>
        ))}
      </nav>
      {aside}
    </div>
  );
}

/** Two to four choices side by side. */
export function Segments<V extends string>({ label, value, tabs, onChange }: Omit<TabsProps<V>, "aside">) {
  return (
    <div role="radiogroup" aria-label={label} className="inline-flex h-[30px] items-center rounded-control border border-line-2 p-0.5">
      {tabs.map((tab) => (
        // biome-ignore lint/a11y/useSemanticElements: a radio input cannot hold an icon and a count.
        <button
          key={tab.value}
          type="button"
          role="radio"
          aria-checked={tab.value === value}
          onClick={() => onChange(tab.value)}
          className={cn(
            "flex h-6 items-center gap-1.5 rounded-chip px-2 text-12",
            tab.value === value ? "bg-surface font-medium text-ink ring-1 ring-line-2" : "text-ink-2 hover:text-ink",
          )}
        >
          {tab.icon}
          {tab.label}
          {tab.count !== undefined && <span className="num text-ink-3">{tab.count}</span>}
        </button>
      ))}
    </div>
  );
}
