import type { ReactNode } from "react";
import { type Hue, hueChip, hueText } from "./Chip";
import { cn } from "./cn";

/** Every state that a page shows: work, safety and health. */
export type State =
  | "queued"
  | "running"
  | "succeeded"
  | "mixed"
  | "failed"
  | "cancelled"
  | "expired"
  | "paused"
  | "pass"
  | "review"
  | "redact"
  | "block"
  | "healthy"
  | "degraded"
  | "down";

interface Look {
  word: string;
  hue: Hue;
  shape: ReactNode;
}

const line = { fill: "none", stroke: "currentColor", strokeWidth: 1.6, strokeLinecap: "round", strokeLinejoin: "round" } as const;
const onSolid = { fill: "none", stroke: "var(--surface)", strokeWidth: 1.6, strokeLinecap: "round", strokeLinejoin: "round" } as const;
const shield = "M7 1.2 12 3v3.6c0 3-2 5.2-5 6.2-3-1-5-3.2-5-6.2V3z";

const looks: Record<State, Look> = {
  queued: { word: "Queued", hue: "slate", shape: <circle cx="7" cy="7" r="5.6" {...line} strokeDasharray="1.9 2.5" /> },
  running: {
    word: "Running",
    hue: "water",
    shape: (
      <>
        <circle cx="7" cy="7" r="5.4" {...line} strokeWidth="2" opacity="0.3" />
        <path d="M7 1.6a5.4 5.4 0 0 1 0 10.8" {...line} strokeWidth="2" strokeLinecap="butt" />
      </>
    ),
  },
  succeeded: {
    word: "Succeeded",
    hue: "green",
    shape: (
      <>
        <circle cx="7" cy="7" r="6.4" fill="currentColor" />
        <path d="m4.3 7.2 1.9 1.9 3.6-3.9" {...onSolid} />
      </>
    ),
  },
  mixed: {
    word: "Mixed",
    hue: "green",
    shape: (
      <>
        <path d="M7 .6a6.4 6.4 0 0 0 0 12.8z" fill="var(--green-solid)" />
        <path d="M7 .6a6.4 6.4 0 0 1 0 12.8z" fill="var(--red-solid)" />
      </>
    ),
  },
  failed: {
    word: "Failed",
    hue: "red",
    shape: (
      <>
        <path d="M4.4.8h5.2l3.6 3.6v5.2l-3.6 3.6H4.4L.8 9.6V4.4z" fill="currentColor" />
        <path d="m4.9 4.9 4.2 4.2m0-4.2L4.9 9.1" {...onSolid} />
      </>
    ),
  },
  cancelled: {
    word: "Cancelled",
    hue: "slate",
    shape: (
      <>
        <circle cx="7" cy="7" r="5.6" {...line} />
        <path d="M4.2 7h5.6" {...line} />
      </>
    ),
  },
  expired: {
    word: "Expired",
    hue: "amber",
    shape: (
      <>
        <circle cx="7" cy="7" r="5.6" {...line} />
        <path d="M7 3.8V7l2.2 1.4" {...line} />
      </>
    ),
  },
  paused: { word: "Paused", hue: "amber", shape: <path d="M4.8 3v8M9.2 3v8" {...line} strokeWidth="2.4" strokeLinecap="butt" /> },
  pass: {
    word: "Pass",
    hue: "green",
    shape: (
      <>
        <path d={shield} {...line} />
        <path d="m4.8 6.8 1.6 1.6 2.8-3" {...line} />
      </>
    ),
  },
  review: {
    word: "In review",
    hue: "violet",
    shape: (
      <>
        <path d="M.9 7C2.2 4.4 4.4 3 7 3s4.8 1.4 6.1 4c-1.3 2.6-3.5 4-6.1 4S2.2 9.6.9 7z" {...line} />
        <circle cx="7" cy="7" r="1.7" {...line} />
      </>
    ),
  },
  redact: {
    word: "Redacted",
    hue: "amber",
    shape: (
      <>
        <path d={shield} {...line} />
        <path d="M4.6 6.8h4.8" {...line} strokeWidth="2.2" strokeLinecap="butt" />
      </>
    ),
  },
  block: {
    word: "Blocked",
    hue: "red",
    shape: (
      <>
        <path d={shield} fill="currentColor" />
        <path d="m5.2 5 3.6 3.6m0-3.6L5.2 8.6" {...onSolid} />
      </>
    ),
  },
  healthy: { word: "Healthy", hue: "green", shape: <circle cx="7" cy="7" r="4" fill="currentColor" /> },
  degraded: {
    word: "Degraded",
    hue: "amber",
    shape: <path d="M7 1.6 13 12.2H1z" fill="currentColor" stroke="currentColor" strokeLinejoin="round" />,
  },
  down: { word: "Down", hue: "red", shape: <rect x="2" y="2" width="10" height="10" rx="1.5" fill="currentColor" /> },
};

/** Solid hues colour the shapes; the words take the text hue. */
const glyphHue: Record<Hue, string> = {
  slate: "text-slate-solid",
  water: "text-water-solid",
  green: "text-green-solid",
  red: "text-red-solid",
  amber: "text-amber-solid",
  violet: "text-violet-solid",
};

export function stateWord(state: State): string {
  return looks[state].word;
}

/** The glyph of a state. Alone it is named for screen readers; beside its word it is hidden from them. */
export function StateGlyph({ state, alone, className }: { state: State; alone?: boolean; className?: string }) {
  const look = looks[state];
  return (
    <svg
      viewBox="0 0 14 14"
      className={cn("size-[14px] shrink-0", glyphHue[look.hue], state === "running" && "animate-turn", className)}
      {...(alone ? { role: "img", "aria-label": look.word } : { "aria-hidden": true })}
    >
      {look.shape}
    </svg>
  );
}

/** Glyph and plain word, as tables show a state. */
export function StateText({ state, word }: { state: State; word?: string }) {
  return (
    <span className="inline-flex min-w-0 items-center gap-2">
      <StateGlyph state={state} />
      <span className="truncate">{word ?? looks[state].word}</span>
    </span>
  );
}

/** The tinted state of a page head. */
export function StatePill({ state, word }: { state: State; word?: string }) {
  const look = looks[state];
  return (
    <span
      className={cn(
        "inline-flex h-6 shrink-0 items-center gap-1.5 rounded-control px-2 text-13 font-medium",
        hueChip[look.hue],
        hueText[look.hue],
      )}
    >
      <StateGlyph state={state} />
      {word ?? look.word}
    </span>
  );
}

/** The state of a job: `mixed` is the outcome of a job that ended. */
export function jobState(job: { status: string; outcome?: string | null }): State {
  if (job.outcome === "mixed") return "mixed";
  return asState(job.status);
}

/** A status of the API as a state; an unknown one reads as queued. */
export function asState(status: string): State {
  return status in looks ? (status as State) : "queued";
}
