import type { Schemas } from "@/api";
import type { State } from "@/components/StateGlyph";
import { formatDuration } from "@/format";

export type Target = Schemas["Target"];
export type TargetState = Schemas["TargetState"];

/** The share of failed attempts from which an open target counts as degraded, and the attempts that it takes to say so. */
const manyFailed = 0.05;
const enoughAttempts = 20;

export interface Health {
  state: State;
  word: string;
  /** Why, in a sentence. */
  why: string;
}

const healths: Record<TargetState, Health> = {
  open: { state: "healthy", word: "Open", why: "It takes calls." },
  resting: { state: "degraded", word: "Resting", why: "It asked for a pause, and gets no calls until that is over." },
  probed: { state: "degraded", word: "Probed", why: "Its breaker is half open: single calls test whether it works again." },
  broken: { state: "down", word: "Out of order", why: "Its breaker is open, because its calls failed. Calls go to other targets." },
  paused: { state: "paused", word: "Paused", why: "An operator paused it." },
};

export function healthOf(state: TargetState): Health {
  return healths[state];
}

/** The health of a target with its load: an open target whose attempts fail often is degraded. */
export function targetHealth(t: Pick<Target, "state" | "rest_seconds" | "recent" | "control">): Health {
  const health = healths[t.state];
  if (t.control) return healths.paused;
  if (t.state === "resting" && t.rest_seconds > 0) return { ...health, word: `Rests ${formatDuration(t.rest_seconds * 1000)}` };
  if (t.state === "open" && t.recent.attempts >= enoughAttempts && t.recent.failed / t.recent.attempts >= manyFailed) {
    return { state: "degraded", word: "Failing", why: "More than 5% of its attempts of the last 15 minutes failed." };
  }
  return health;
}

/** The health of a model: healthy while all its targets take calls, down when none does. */
export function modelHealth(states: readonly TargetState[]): Health {
  const open = states.filter((s) => s === "open").length;
  if (open === states.length && open > 0) return { state: "healthy", word: "Healthy", why: "All its targets take calls." };
  if (open > 0) return { state: "degraded", word: "Degraded", why: `${open} of ${states.length} targets take calls.` };
  if (states.length > 0 && states.every((s) => s === "paused")) return { ...healths.paused, why: "All its targets are paused." };
  return { state: "down", word: "Down", why: "None of its targets takes calls." };
}

/** The models that have no other open target than this one: a pause of it stops their calls. */
export function modelsWithoutAnother(
  target: Pick<Target, "name" | "models">,
  all: readonly Pick<Target, "name" | "models" | "state">[],
): string[] {
  return target.models.filter((model) => !all.some((t) => t.name !== target.name && t.models.includes(model) && t.state !== "paused"));
}
