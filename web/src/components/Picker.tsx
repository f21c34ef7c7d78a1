import { type LucideIcon, Search } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { cn } from "./cn";
import { Kbd } from "./Kbd";

export interface PickerEntry {
  id: string;
  title: string;
  /** In grey, at the right. */
  note?: string;
  icon?: LucideIcon;
  /** The keys of its shortcut: `"G J"`. */
  hint?: string;
  checked?: boolean;
  run: () => void;
}

export interface PickerProps {
  label: string;
  placeholder: string;
  typed: string;
  onType: (text: string) => void;
  entries: readonly PickerEntry[];
  /** An entry was chosen: close the popup, before the entry runs. */
  onDone: () => void;
  /** Below the entries: that a search goes on, or that it found nothing. */
  note?: ReactNode;
}

/** A field above a list that it narrows. The field keeps the focus; arrows, Home, End and Enter choose. */
export function Picker({ label, placeholder, typed, onType, entries, onDone, note }: PickerProps) {
  const [at, setAt] = useState(0);
  const listId = useId();
  const current = useRef<HTMLDivElement>(null);
  const chosen = Math.min(at, Math.max(0, entries.length - 1));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the current entry changes with chosen.
  useEffect(() => {
    current.current?.scrollIntoView({ block: "nearest" });
  }, [chosen]);

  const run = (entry: PickerEntry | undefined) => {
    if (!entry) return;
    onDone();
    entry.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const count = Math.max(1, entries.length);
    const to = { ArrowDown: (chosen + 1) % count, ArrowUp: (chosen - 1 + count) % count, Home: 0, End: count - 1 }[event.key];
    if (to !== undefined && (event.key.startsWith("Arrow") || typed === "")) {
      event.preventDefault();
      setAt(to);
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(entries[chosen]);
    }
  };
  return (
    <>
      <div className="flex h-11 items-center gap-2 border-b border-line px-3.5">
        <Search aria-hidden className="size-4 shrink-0 text-ink-3" strokeWidth={1.75} />
        <input
          role="combobox"
          aria-label={label}
          aria-expanded
          aria-controls={listId}
          aria-autocomplete="list"
          aria-activedescendant={entries.length > 0 ? `${listId}-${chosen}` : undefined}
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={(e) => {
            onType(e.target.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
          placeholder={placeholder}
          className="h-full min-w-0 flex-1 bg-transparent text-14 outline-none focus-visible:outline-none"
        />
      </div>
      <div id={listId} role="listbox" aria-label={label} className={cn("max-h-[50vh] overflow-y-auto", entries.length > 0 && "p-1.5")}>
        {entries.map((entry, i) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the input keeps the focus, as a combobox does.
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys.
          <div
            key={entry.id}
            ref={i === chosen ? current : null}
            id={`${listId}-${i}`}
            role="option"
            aria-selected={i === chosen}
            onMouseMove={() => setAt(i)}
            onClick={() => run(entry)}
            className={cn("flex h-8 cursor-pointer items-center gap-2.5 rounded-control px-2", i === chosen && "bg-hover")}
          >
            {entry.icon && <entry.icon aria-hidden className="size-4 shrink-0 text-ink-3" strokeWidth={1.75} />}
            <span className={cn("min-w-0 flex-1 truncate", entry.checked && "font-medium text-accent")}>{entry.title}</span>
            {entry.note && <span className="truncate text-12 text-ink-3">{entry.note}</span>}
            {entry.hint && (
              <span aria-hidden className="flex gap-1">
                {entry.hint.split(" ").map((key) => (
                  <Kbd key={key}>{key}</Kbd>
                ))}
              </span>
            )}
          </div>
        ))}
      </div>
      <div aria-live="polite">{note && <p className="px-4 py-3 text-ink-3">{note}</p>}</div>
    </>
  );
}
