import { Search } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useShortcuts } from "@/hooks/shortcuts";
import { cn } from "./cn";
import { inputLook } from "./Field";
import { Kbd } from "./Kbd";

const waitMs = 250;

export interface SearchInputProps {
  label: string;
  /** The text in the URL. */
  value: string;
  onChange: (text: string) => void;
  placeholder?: string;
  className?: string;
}

/** Free text that narrows a list while a person types; `/` focuses. The list follows after a short pause. */
export function SearchInput({ label, value, onChange, placeholder, className }: SearchInputProps) {
  const [text, setText] = useState(value);
  const input = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useShortcuts({ "/": () => input.current?.focus() });
  useEffect(() => setText(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (next: string) => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onChange(next.trim()), waitMs);
  };
  return (
    <div className={cn("relative min-w-48 flex-1", className)}>
      <Search aria-hidden className="absolute top-[7px] left-2.5 size-4 text-ink-3" strokeWidth={1.75} />
      <input
        ref={input}
        type="search"
        aria-label={label}
        value={text}
        placeholder={placeholder}
        spellCheck={false}
        onChange={(e) => type(e.target.value)}
        onKeyDown={(e) => e.key === "Escape" && input.current?.blur()}
        className={cn(inputLook, "h-[30px] pr-8 pl-8 [&::-webkit-search-cancel-button]:hidden")}
      />
      <span className="pointer-events-none absolute top-[5px] right-2">
        <Kbd>/</Kbd>
      </span>
    </div>
  );
}
