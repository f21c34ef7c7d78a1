import type { Schemas } from "@/api";
import type { State } from "@/components/StateGlyph";

export type Webhook = Schemas["Webhook"];
export type Delivery = Schemas["Delivery"];

/** The events that an endpoint can ask for. */
export const events = [
  "job.started",
  "job.finished",
  "budget.soft_exceeded",
  "prompt.version.created",
  "prompt.label.moved",
  "prompt.label.requested",
] as const satisfies readonly Schemas["EventType"][];

/** The state of an endpoint: glyph and word. */
export function endpointState(hook: Pick<Webhook, "enabled" | "failures" | "rest_until">): { state: State; word: string } {
  if (!hook.enabled) return { state: "paused", word: "Disabled" };
  if (hook.rest_until) return { state: "down", word: "Resting" };
  if (hook.failures > 0) return { state: "degraded", word: "Failing" };
  return { state: "healthy", word: "Healthy" };
}

export const deliveryState: Record<Delivery["status"], { state: State; word: string }> = {
  pending: { state: "queued", word: "Pending" },
  delivered: { state: "succeeded", word: "Delivered" },
  failed: { state: "failed", word: "Failed" },
};

/** The share of the ended deliveries that were accepted; null while none has ended. */
export function successRate(deliveries: readonly Pick<Delivery, "status">[]): number | null {
  const ended = deliveries.filter((d) => d.status !== "pending");
  return ended.length === 0 ? null : ended.filter((d) => d.status === "delivered").length / ended.length;
}

/** The answer to the last attempt: its status code, or a word for no answer. */
export function lastAnswer(delivery: Pick<Delivery, "history">): { code: number | null; ms: number; ok: boolean } | null {
  const last = delivery.history.at(-1);
  return last ? { code: last.status_code, ms: last.duration_ms, ok: last.error === null } : null;
}

/** Why an address cannot be one of an endpoint; null where the server decides. */
export function urlProblem(text: string): string | null {
  if (text.trim() === "") return null;
  try {
    const url = new URL(text.trim());
    if (url.protocol !== "https:" && url.protocol !== "http:") return "The URL must begin with https://.";
    return url.username || url.password ? "Leave the user and the password out of the URL." : null;
  } catch {
    return "This is no URL, such as https://app.example/hook.";
  }
}
