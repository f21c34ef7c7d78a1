import type { ServerEvent } from "@/live/sse";

/** An answer of the server that is not 2xx; status 0 if it could not be reached. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
    this.name = "Refused";
  }
}

/** Calls the server about one draft. Paths begin behind …/draft/. */
export interface Transport {
  /** Rejects with Refused. */
  call<T>(method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE", path: string, body?: unknown, headers?: Record<string, string>): Promise<T>;
  /** Reads events until the stream ends. Rejects with Refused. */
  events(path: string, onEvent: (event: ServerEvent) => void, signal: AbortSignal): Promise<void>;
}

/** A controller that is aborted with a signal. */
export function linked(signal: AbortSignal): AbortController {
  const controller = new AbortController();
  if (signal.aborted) controller.abort();
  else signal.addEventListener("abort", () => controller.abort(), { once: true, signal: controller.signal });
  return controller;
}
