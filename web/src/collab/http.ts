import { parseExact, printExact } from "@/api/exact";
import { EventReader, type ServerEvent } from "@/live/sse";
import { linked, Refused, type Transport } from "./transport";

/** The server writes at least every 15 s. A stream that is silent for longer has lost its server. */
const silenceMs = 40_000;

/** Calls the server with fetch. The headers are asked for each call, because the token of a session may change. */
export function httpTransport(base: string, headersFor: (method: string) => Record<string, string>): Transport {
  async function send(method: string, path: string, init: RequestInit): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(`${base}/${path}`, { method, credentials: "same-origin", cache: "no-store", ...init });
    } catch (cause) {
      throw new Refused(0, cause instanceof Error ? cause.message : "The server cannot be reached.");
    }
    if (response.ok) return response;
    const body = (await response.json().catch(() => ({}))) as { error?: { message?: string } };
    throw new Refused(response.status, body.error?.message ?? `The server answered ${response.status}.`);
  }
  return {
    async call<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
      const response = await send(method, path, {
        headers: { ...headersFor(method), ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        ...(body === undefined ? {} : { body: printExact(body) }),
      });
      try {
        return parseExact(await response.text()) as T;
      } catch {
        throw new Refused(0, "The answer of the server broke off.");
      }
    },
    async events(path: string, onEvent: (event: ServerEvent) => void, signal: AbortSignal): Promise<void> {
      const silence = linked(signal);
      const response = await send("GET", path, { headers: { ...headersFor("GET"), accept: "text/event-stream" }, signal: silence.signal });
      const text = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      const reader = new EventReader();
      for (;;) {
        const timer = setTimeout(() => silence.abort(), silenceMs);
        const read = await text?.read().finally(() => clearTimeout(timer));
        if (!read || read.done) return;
        for (const event of reader.push(read.value)) onEvent(event);
      }
    },
  };
}
