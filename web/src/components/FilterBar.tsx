import { ListFilter, X } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from "react";
import { useShortcuts } from "@/hooks/shortcuts";
import { cn } from "./cn";
import { Kbd } from "./Kbd";

/** A field that a list can be filtered by. */
export interface FilterField {
  name: string; // of the search parameter
  label: string;
  /** The values that it can have; free text where absent. */
  values?: readonly string[];
  /** Values to suggest for free text, such as the names of models. Other text is taken too. */
  known?: readonly string[] | undefined;
  /** An example, for the hint. */
  example?: string;
  /** The words of a value on its chip. */
  word?: (value: string) => string;
}

export type FilterValues = Readonly<Record<string, string | undefined>>;

export interface FilterBarProps {
  fields: readonly FilterField[];
  values: FilterValues;
  onChange: (name: string, value: string | undefined) => void;
  /** Takes text that no field claims, such as an id. Without it such text is refused. */
  onText?: (text: string) => void;
  placeholder?: string;
  children?: ReactNode; // Views, Columns
}

interface Suggestion {
  text: string; // that completes the input
  note: string;
  field?: FilterField;
  value?: string;
}

/** What typed text can mean: a value of a field (`lane bulk`, `lane:bulk`, `lane is bulk`), or the name of a field. */
export function suggestionsFor(text: string, fields: readonly FilterField[]): Suggestion[] {
  const typed = text.trimStart().toLowerCase();
  const match = /^([\w -]+?)(?:\s*[:=]\s*|\s+is\s+|\s+)(.*)$/.exec(text.trimStart());
  const named =
    match && fields.find((f) => f.label.toLowerCase() === match[1]?.toLowerCase() || f.name.toLowerCase() === match[1]?.toLowerCase());
  if (match && named) {
    const value = (match[2] ?? "").trim();
    if (named.values) {
      return named.values
        .filter((v) => v.toLowerCase().startsWith(value.toLowerCase()))
        .map((v) => ({ text: `${named.label} is ${named.word?.(v) ?? v}`, note: "", field: named, value: v }));
    }
    const known = (named.known ?? []).filter((v) => v !== value && v.toLowerCase().includes(value.toLowerCase())).slice(0, 8);
    const typedValue = value
      ? [{ text: `${named.label} is ${named.word?.(value) ?? value}`, note: "", field: named, value }]
      : known.length === 0
        ? [{ text: `${named.label} is …`, note: named.example ?? "", field: named }]
        : [];
    return [...typedValue, ...known.map((v) => ({ text: `${named.label} is ${v}`, note: "", field: named, value: v }))];
  }
  const byName = fields
    .filter((f) => f.label.toLowerCase().startsWith(typed))
    .map((f) => ({ text: `${f.label} is …`, note: f.values?.join(", ") ?? f.example ?? "", field: f }));
  const byValue = typed
    ? fields.flatMap((f) =>
        (f.values ?? [])
          .filter((v) => v.toLowerCase().startsWith(typed))
          .map((v) => ({ text: `${f.label} is ${f.word?.(v) ?? v}`, note: "", field: f, value: v })),
      )
    : [];
  return [...byName, ...byValue].slice(0, 10);
}

/** One field of `field is value` chips; `/` focuses. The values are search parameters of the URL. */
export function FilterBar({ fields, values, onChange, onText, placeholder = "Add a filter…", children }: FilterBarProps) {
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const listId = useId();
  useShortcuts({ "/": () => input.current?.focus() });

  const chips = fields.filter((f) => values[f.name] !== undefined && values[f.name] !== "");
  const suggestions = suggestionsFor(
    text,
    fields.filter((f) => !chips.includes(f)),
  );
  const shown = open && suggestions.length > 0;

  const take = (s: Suggestion) => {
    if (s.field && s.value !== undefined) {
      onChange(s.field.name, s.value);
      setText("");
      setOpen(false);
    } else if (s.field) {
      setText(`${s.field.label} is `);
    }
    setAt(0);
    input.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setOpen(true);
      setAt((i) => (i + (event.key === "ArrowDown" ? 1 : -1) + suggestions.length) % Math.max(1, suggestions.length));
    } else if (event.key === "Enter" && text !== "") {
      const s = suggestions[at] ?? suggestions[0];
      if (s) take(s);
      else if (onText) {
        onText(text.trim());
        setText("");
      }
    } else if (event.key === "Backspace" && text === "") {
      const last = chips.at(-1);
      if (last) onChange(last.name, undefined);
    } else if (event.key === "Escape") {
      if (shown) setOpen(false);
      else input.current?.blur();
      event.stopPropagation();
    }
  };

  return (
    <div className="flex flex-wrap items-center gap-2">
      <div className="relative flex min-h-[30px] min-w-60 flex-1 flex-wrap items-center gap-1.5 rounded-control border border-control bg-surface px-2 py-0.5 focus-within:outline-2 focus-within:outline-focus">
        <ListFilter aria-hidden className="size-4 text-ink-3" strokeWidth={1.75} />
        {chips.map((f) => (
          <FilterChip key={f.name} field={f} value={values[f.name] ?? ""} onRemove={() => onChange(f.name, undefined)} />
        ))}
        <input
          ref={input}
          role="combobox"
          aria-label="Filter"
          aria-expanded={shown}
          aria-controls={listId}
          aria-autocomplete="list"
          aria-activedescendant={shown ? `${listId}-${at}` : undefined}
          value={text}
          placeholder={chips.length === 0 ? placeholder : ""}
          onChange={(e) => {
            setText(e.target.value);
            setOpen(true);
            setAt(0);
          }}
          onFocus={() => setOpen(true)}
          onBlur={() => setOpen(false)}
          onKeyDown={onKeyDown}
          className="h-6 min-w-32 flex-1 bg-transparent text-13 outline-none focus-visible:outline-none"
        />
        <Kbd>/</Kbd>
        <div
          id={listId}
          role="listbox"
          aria-label="Filters"
          hidden={!shown}
          className="absolute top-full left-0 z-30 mt-1 max-h-80 w-96 max-w-full overflow-y-auto rounded-card border border-line bg-raised p-1 shadow-float"
        >
          {suggestions.map((s, i) => (
            // biome-ignore lint/a11y/useFocusableInteractive: the input keeps the focus, as a combobox does.
            // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys.
            <div
              key={s.text}
              id={`${listId}-${i}`}
              role="option"
              aria-selected={i === at}
              onMouseDown={(e) => e.preventDefault()}
              onMouseEnter={() => setAt(i)}
              onClick={() => take(s)}
              className={cn("flex h-[30px] cursor-pointer items-center justify-between gap-3 rounded-control px-2", i === at && "bg-hover")}
            >
              <span className="shrink-0">{s.text}</span>
              <span className="truncate text-12 text-ink-3">{s.note}</span>
            </div>
          ))}
        </div>
      </div>
      {children}
    </div>
  );
}

function FilterChip({ field, value, onRemove }: { field: FilterField; value: string; onRemove: () => void }) {
  return (
    <span className="inline-flex h-[22px] max-w-72 items-center gap-1 rounded-chip bg-slate-tint pl-1.5 text-12 text-slate">
      <span className="shrink-0">{field.label.toLowerCase()} is</span>
      <span className="truncate font-medium text-ink">{field.word?.(value) ?? value}</span>
      <button
        type="button"
        aria-label={`Remove the filter ${field.label}`}
        onClick={onRemove}
        className="flex size-6 items-center justify-center hover:text-ink"
      >
        <X aria-hidden className="size-3.5" strokeWidth={1.75} />
      </button>
    </span>
  );
}
