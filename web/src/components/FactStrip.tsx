import type { ReactNode } from "react";

export interface StripFact {
  name: string;
  value: ReactNode;
  /** In grey, beside the value. */
  note?: ReactNode;
}

/** The main figures of an object, side by side under its page head. */
export function FactStrip({ label, facts }: { label: string; facts: readonly StripFact[] }) {
  return (
    <dl aria-label={label} className="grid grid-cols-2 gap-px border-t border-line bg-line md:grid-cols-3 xl:grid-cols-6">
      {facts.map(({ name, value, note }) => (
        <div key={name} className="min-w-0 bg-surface px-4 py-2 first:md:pl-6">
          <dt className="truncate text-12 text-ink-3">{name}</dt>
          <dd className="num truncate text-16 font-semibold">
            {value}
            {note && <span className="ml-1.5 text-12 font-normal text-ink-3">{note}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
