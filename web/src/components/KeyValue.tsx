import type { ReactNode } from "react";
import { missing } from "@/format";
import { CopyButton } from "./Copy";

export interface Fact {
  name: string;
  value: ReactNode;
  /** The text that the row copies; rows without offer no copy. */
  copy?: string | undefined;
}

/** Facts in rows of 28 px; the copy button shows on hover and on focus. */
export function KeyValue({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl className="flex flex-col">
      {facts.map(({ name, value, copy }) => (
        <div key={name} className="group flex min-h-7 items-center gap-2">
          <dt className="w-24 shrink-0 truncate text-12 text-ink-3">{name}</dt>
          <dd className="flex min-w-0 flex-1 items-center gap-2">
            <span className="min-w-0 flex-1 truncate">{value ?? <span className="text-ink-3">{missing}</span>}</span>
            {copy && (
              <span className="opacity-0 group-focus-within:opacity-100 group-hover:opacity-100">
                <CopyButton text={copy} label={`Copy ${name.toLowerCase()}`} />
              </span>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** A section of the right pane. */
export function PaneSection({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  return (
    <section className="border-b border-line px-5 py-3 last:border-b-0">
      <div className="mb-1 flex items-center justify-between">
        <h2 className="text-13 font-semibold">{title}</h2>
        {aside && <span className="text-12 text-ink-3">{aside}</span>}
      </div>
      {children}
    </section>
  );
}
