import type { Schemas } from "@/api";

export const endpoints: readonly Schemas["Endpoint"][] = [
  "/v1/chat/completions",
  "/v1/responses",
  "/v1/messages",
  "/v1/embeddings",
  "/v1/completions",
  "/v1/rerank",
];

/** The choices of the form. */
export interface Choice {
  file: string;
  endpoint: Schemas["Endpoint"];
  lane: Schemas["Lane"];
  window: string;
  name: string;
}

const minute = 60_000;
const unit = { m: minute, h: 60 * minute, d: 24 * 60 * minute } as const;
const longest = 30 * unit.d;

/** The milliseconds of `90m`, `24h` or `7d`; null for anything else. */
export function windowMs(text: string): number | null {
  const match = /^(\d{1,5})([mhd])$/.exec(text.trim());
  if (!match) return null;
  const ms = Number(match[1]) * unit[match[2] as keyof typeof unit];
  return ms >= minute && ms <= longest ? ms : null;
}

export function validWindow(text: string): boolean {
  return windowMs(text) !== null;
}

/** The end of a window that begins now. */
export function deadlineOf(window: string, now = Date.now()): string {
  return new Date(now + (windowMs(window) ?? unit.d)).toISOString();
}

/** The server knows hours, not days. */
function hours(window: string): string {
  const ms = windowMs(window) ?? unit.d;
  return ms % unit.h === 0 ? `${ms / unit.h}h` : `${ms / minute}m`;
}

/** The call that submits: an OpenAI batch in the bulk lane, or a job over the file in another lane. */
export function bodyOf(c: Choice, now = Date.now()) {
  if (c.lane === "bulk") {
    const metadata = c.name.trim() ? { metadata: { name: c.name.trim() } } : {};
    const body = { input_file_id: c.file, endpoint: c.endpoint, completion_window: hours(c.window), ...metadata };
    return { method: "POST" as const, path: "/v1/batches" as const, body };
  }
  const body = { input_file: c.file, endpoint: c.endpoint, lane: c.lane, deadline: deadlineOf(c.window, now) };
  return { method: "POST" as const, path: "/v1/jobs" as const, body };
}
