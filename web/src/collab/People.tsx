import { cn } from "@/components/cn";
import { colourOf } from "./colour";
import type { Person } from "./session";
import type { Draft } from "./useSharedDraft";

const tints = {
  violet: "border-violet-line bg-violet-tint text-violet",
  green: "border-green-line bg-green-tint text-green",
  amber: "border-amber-line bg-amber-tint text-amber",
  water: "border-water-line bg-water-tint text-water",
  red: "border-red-line bg-red-tint text-red",
  slate: "border-slate-line bg-slate-tint text-slate",
} as const;

/** The first characters of up to two words. */
export function initials(name: string): string {
  const words = name.split(/[\s.@_-]+/).filter(Boolean);
  return words
    .slice(0, 2)
    .map((w) => [...w][0]?.toUpperCase() ?? "")
    .join("");
}

/** Who edits the draft. */
export function People({ draft }: { draft: Draft }) {
  const people = new Map<string, Person>();
  for (const p of draft.people) if (!people.has(p.person)) people.set(p.person, p);
  return (
    <ul className="flex items-center gap-1 text-12" aria-label="People who edit this draft">
      {[...people.values()].map((p) => (
        <li
          key={p.person}
          title={p.name}
          className={cn("inline-flex h-6 items-center rounded-full border px-2 font-medium", tints[colourOf(p.person)])}
        >
          <span aria-hidden="true">{initials(p.name)}</span>
          <span className="sr-only">{p.person === draft.structure?.you ? `${p.name} (you)` : p.name}</span>
        </li>
      ))}
    </ul>
  );
}

/** What a person needs to know about the connection. */
export function statusText(draft: Pick<Draft, "status" | "unsent" | "problem">): string {
  if (draft.problem) return `Not saved: ${draft.problem}`;
  switch (draft.status) {
    case "connecting":
      return "Opening the draft…";
    case "offline":
      return draft.unsent > 0
        ? "Offline. Your changes are kept here and saved once the server is back."
        : "Offline. You can go on; changes are saved later.";
    case "gone":
      return "This draft was discarded.";
    case "denied":
      return "You may not open this draft.";
    default:
      return draft.unsent > 0 ? "Saving…" : "Saved";
  }
}
