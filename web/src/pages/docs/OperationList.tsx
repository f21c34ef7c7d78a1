import { Link } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { type KeyboardEvent, useEffect, useRef } from "react";
import { cn } from "@/components/cn";
import { Kbd } from "@/components/Kbd";
import { useShortcuts } from "@/hooks/shortcuts";
import { Method } from "./Method";
import { type Group, tagTitle } from "./spec";

interface OperationListProps {
  groups: readonly Group[];
  current: string | undefined;
  typed: string;
  onType: (text: string) => void;
  onOpen: (id: string) => void;
}

/** All operations by tag, with a search. `/` focuses it, Enter opens the first result. */
export function OperationList({ groups, current, typed, onType, onOpen }: OperationListProps) {
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLElement>(null);
  useShortcuts({ "/": () => input.current?.focus() });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the current entry changes with the operation.
  useEffect(() => {
    list.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }, [current]);
  const onKeyDown = (e: KeyboardEvent) => {
    const first = groups[0]?.operations[0];
    if (e.key === "Enter" && first) onOpen(first.operationId);
    if (e.key === "Escape") {
      onType("");
      input.current?.blur();
    }
  };
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="border-b border-line p-3">
        <label className="flex h-[30px] items-center gap-2 rounded-control border border-control bg-surface px-2.5 focus-within:outline-2 focus-within:outline-focus">
          <Search aria-hidden className="size-4 text-ink-3" strokeWidth={1.75} />
          <input
            ref={input}
            aria-label="Search operations"
            value={typed}
            onChange={(e) => onType(e.target.value)}
            onKeyDown={onKeyDown}
            placeholder="Search operations"
            className="min-w-0 flex-1 bg-transparent outline-none focus-visible:outline-none"
          />
          <Kbd>/</Kbd>
        </label>
      </div>
      <nav ref={list} aria-label="Operations" className="min-h-0 flex-1 overflow-y-auto px-2 pb-4">
        <Link
          to="/docs"
          search={(old) => ({ ...old, op: undefined }) as never}
          activeOptions={{ includeSearch: true, explicitUndefined: true }}
          aria-current={current === undefined ? "page" : undefined}
          className={cn(
            "mt-2 flex min-h-7 items-center rounded-control px-2 text-12 hover:bg-hover",
            current === undefined ? "bg-accent-tint font-medium text-accent" : "text-ink-2",
          )}
        >
          Overview
        </Link>
        {groups.length === 0 && <p className="p-3 text-ink-3">No operation has these words.</p>}
        {groups.map((group) => (
          <section key={group.name}>
            <h2 className="px-2 pt-3 pb-1 text-12 font-medium text-ink-3">{tagTitle(group.name)}</h2>
            <ul>
              {group.operations.map((op) => (
                <li key={op.operationId}>
                  <Link
                    to="/docs"
                    search={(old) => ({ ...old, op: op.operationId })}
                    aria-current={op.operationId === current ? "page" : undefined}
                    title={op.summary}
                    className={cn(
                      "flex min-h-7 scroll-my-32 items-center gap-2 rounded-control px-2 text-12 hover:bg-hover",
                      op.operationId === current ? "bg-accent-tint font-medium text-accent" : "text-ink-2",
                      op.deprecated && "line-through",
                    )}
                  >
                    <Method method={op.method} className="w-9 shrink-0" />
                    <span className="truncate">{op.path.replace(/^\/(admin\/)?v1\//, "")}</span>
                  </Link>
                </li>
              ))}
            </ul>
          </section>
        ))}
      </nav>
    </div>
  );
}
