import type { Schemas } from "@/api";

export type Job = Schemas["Job"];
export type Item = Schemas["Item"];
export type ListedItem = Schemas["ListedItem"];
export type Attempt = Schemas["Attempt"];

/** Whether every item of a job has ended. */
export function hasEnded(job: Job): boolean {
  return job.finished_at !== null;
}

/** The items that a retry runs again, at most: those retried before are left out by the server. */
export function unsuccessful(job: Job): number {
  return job.counts.failed + job.counts.expired + job.counts.cancelled;
}

/** The items that a cancel stops. */
export function unfinished(job: Job): number {
  return job.counts.queued + job.counts.running;
}

/** Who submitted a job: the name of a person, or of a key. */
export function submitter(job: Job): { kind: "person" | "key"; name: string } | null {
  if (!job.key) return null;
  const person = /^person:(.*)$/s.exec(job.key);
  return person ? { kind: "person", name: person[1] ?? "" } : { kind: "key", name: job.key };
}

const waits: Record<Schemas["Reason"], string> = {
  paused: "An operator paused its tenant, lane, model or targets.",
  budget: "A hard budget has too little left for its items.",
  workers: "No worker is running.",
  capacity: "Every target runs as many calls as it may.",
  rate_limit: "Every target is at its rate limit.",
  provider: "Every target fails.",
  retry: "Items failed, and their next attempt is not due.",
};

/** Why queued items of a job do not start; null for a job without any. */
export function waitText(job: Job): string | null {
  if (hasEnded(job) || job.counts.queued === 0) return null;
  if (job.cancel_requested_at) return "It is being cancelled.";
  return job.waiting_on ? waits[job.waiting_on] : "Its items wait for their turn in the lane.";
}

/** The text of an answer, in each dialect; null for an answer without text, such as an embedding. */
export function answerText(body: unknown): string | null {
  const at = (value: unknown, ...path: (string | number)[]): unknown =>
    path.reduce<unknown>(
      (v, name) => (typeof v === "object" && v !== null ? (v as Record<string | number, unknown>)[name] : undefined),
      value,
    );
  const parts = (list: unknown): string | null => {
    if (!Array.isArray(list)) return null;
    const texts = list.map((part) => at(part, "text")).filter((t): t is string => typeof t === "string");
    return texts.length > 0 ? texts.join("") : null;
  };
  const chat = at(body, "choices", 0, "message", "content");
  if (typeof chat === "string") return chat;
  const completion = at(body, "choices", 0, "text");
  if (typeof completion === "string") return completion;
  const output = at(body, "output");
  const responses = Array.isArray(output) ? parts(output.flatMap((o) => at(o, "content") ?? [])) : null;
  return parts(chat) ?? responses ?? parts(at(body, "content"));
}
