// Client for Penstock's durable jobs. The types are generated from the server's OpenAPI document (npm run generate).
//
// Every call is safe to repeat: reads change nothing, and a submit always carries an Idempotency-Key. So calls are retried after
// errors that say so, and after broken connections, never earlier than the server asked for.
import type { components } from "./schema.js";

export type Job = components["schemas"]["Job"];
export type JobCreate = components["schemas"]["JobCreate"];
export type Result = components["schemas"]["Result"];
export type ErrorBody = components["schemas"]["ErrorBody"];

/** The version of the API that the types describe. */
export const apiVersion = "2026-12-01";

const defaultURL = "http://127.0.0.1:8080";
const maxWaitSeconds = 60;
const maxRetryAfterMs = 30_000;

export interface Options {
  /** The base URL of the API. Default: http://127.0.0.1:8080. */
  url?: string;
  apiKey: string;
  /** How often a call is made at the most, the first time included. Default: 6. */
  maxTries?: number;
  /** Makes the calls. Default: the global fetch. */
  fetch?: typeof fetch;
}

/** An error that the server answered with. */
export class PenstockError extends Error {
  constructor(
    readonly status: number,
    readonly body: Partial<ErrorBody>,
    readonly retryAfterMs: number,
  ) {
    super(body.message ?? `the server answered ${status}`);
    this.name = "PenstockError";
  }
  get code(): string | undefined {
    return this.body.code;
  }
  get retryable(): boolean {
    return this.body.retryable ?? this.status >= 500;
  }
}

/** A connection that broke. Whether the server received the call is not known. */
export class ConnectionError extends Error {
  constructor(cause: unknown) {
    super(`the connection to Penstock broke: ${reason(cause)}`, { cause });
    this.name = "ConnectionError";
  }
}

/** The innermost message of an error. fetch only says "fetch failed"; its cause says why. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message || error.name : reason(error.cause);
}

export interface SubmitOptions {
  /** Names the submit, so that sending it again finds the same job. Default: a random key for each submit. */
  idempotencyKey?: string;
  /** Seconds to wait for the job to finish, 60 at most. */
  waitSeconds?: number;
  signal?: AbortSignal;
}

export interface ResultOptions {
  /** completion (default) or input. */
  order?: "completion" | "input";
  /** Resume after this seq (order completion) or index (order input). */
  after?: number;
  signal?: AbortSignal;
}

interface Call {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
  signal?: AbortSignal | undefined;
}

export class Penstock {
  readonly #url: string;
  readonly #key: string;
  readonly #maxTries: number;
  readonly #fetch: typeof fetch;

  constructor(options: Options) {
    this.#url = (options.url ?? defaultURL).replace(/\/+$/, "");
    if (!/^https?:\/\/[^/]/.test(this.#url)) throw new TypeError(`url must look like ${defaultURL}, not ${JSON.stringify(options.url)}`);
    if (!options.apiKey) throw new TypeError("apiKey is missing; pass a key of the server, such as process.env.PENSTOCK_API_KEY");
    this.#key = options.apiKey;
    this.#maxTries = options.maxTries ?? 6;
    this.#fetch = options.fetch ?? fetch;
  }

  /** Submits a job. When it returns, the job is on stable storage. */
  async submitJob(job: JobCreate, options: SubmitOptions = {}): Promise<Job> {
    const headers: Record<string, string> = { "content-type": "application/json", "idempotency-key": options.idempotencyKey ?? crypto.randomUUID() };
    if (options.waitSeconds) headers["prefer"] = `wait=${Math.min(Math.trunc(options.waitSeconds), maxWaitSeconds)}`;
    return this.#json({ method: "POST", path: "/v1/jobs", headers, body: JSON.stringify(job), signal: options.signal });
  }

  job(id: string, signal?: AbortSignal): Promise<Job> {
    return this.#json({ method: "GET", path: jobPath(id), signal });
  }

  /** Returns the job once it is finished. */
  async waitJob(id: string, signal?: AbortSignal): Promise<Job> {
    for (;;) {
      const job = await this.#json<Job>({ method: "GET", path: jobPath(id), headers: { prefer: `wait=${maxWaitSeconds}` }, signal });
      if (job.finished_at) return job;
      await sleep(1000, signal); // a server that does not wait must not be asked in a tight loop
    }
  }

  /** Asks a job to stop. Finished items keep their results. */
  cancelJob(id: string, signal?: AbortSignal): Promise<Job> {
    return this.#json({ method: "POST", path: `${jobPath(id)}/cancel`, signal });
  }

  /** Yields jobs, newest first. */
  async *listJobs(query: Record<string, string> = {}, signal?: AbortSignal): AsyncGenerator<Job> {
    let after: string | undefined;
    for (;;) {
      const params = new URLSearchParams(after ? { ...query, after } : query);
      const page: components["schemas"]["JobPage"] = await this.#json({ method: "GET", path: `/v1/jobs?${params}`, signal });
      yield* page.data;
      after = page.data.at(-1)?.id;
      if (!page.has_more || !after) return;
    }
  }

  /** Yields the results that are there by now, each once. A connection that breaks is taken up where it broke. */
  async *results(id: string, options: ResultOptions = {}): AsyncGenerator<Result> {
    let { after } = options;
    for (let failed = 1; ; failed++) {
      try {
        const query = new URLSearchParams({ order: options.order ?? "completion" });
        if (after !== undefined) query.set("after", String(after));
        const answer = await this.#send({ method: "GET", path: `${jobPath(id)}/results?${query}`, signal: options.signal });
        for await (const line of lines(answer)) {
          const result = JSON.parse(line) as Result;
          after = options.order === "input" ? result.index : result.seq;
          failed = 1;
          yield result;
        }
        return;
      } catch (error) {
        await this.#pause(failed, error, options.signal);
      }
    }
  }

  async #json<T>(call: Call): Promise<T> {
    for (let failed = 1; ; failed++) {
      try {
        const answer = await this.#send(call);
        return (await answer.json().catch((error: unknown) => {
          throw new ConnectionError(error);
        })) as T;
      } catch (error) {
        await this.#pause(failed, error, call.signal);
      }
    }
  }

  async #send(call: Call): Promise<Response> {
    let answer: Response;
    try {
      answer = await this.#fetch(this.#url + call.path, {
        method: call.method,
        headers: { authorization: `Bearer ${this.#key}`, "penstock-version": apiVersion, ...call.headers },
        body: call.body ?? null,
        signal: call.signal ?? null,
      });
    } catch (error) {
      if (call.signal?.aborted) throw error;
      throw new ConnectionError(error);
    }
    if (answer.ok) return answer;
    const text = await answer.text().catch(() => "");
    let body: Partial<ErrorBody> = {};
    try {
      body = (JSON.parse(text) as components["schemas"]["Error"]).error;
    } catch {
      // the answer of a proxy
    }
    const retryAfter = Number(answer.headers.get("retry-after-ms") ?? Number(answer.headers.get("retry-after") ?? 0) * 1000);
    throw new PenstockError(answer.status, body, Number.isFinite(retryAfter) ? retryAfter : 0);
  }

  /** Waits before a call is made again, or throws the error of a call that must not be. */
  async #pause(failed: number, error: unknown, signal?: AbortSignal): Promise<void> {
    const retryable = error instanceof ConnectionError || (error instanceof PenstockError && error.retryable && error.retryAfterMs <= maxRetryAfterMs);
    if (!retryable || failed >= this.#maxTries || signal?.aborted) throw error;
    const least = error instanceof PenstockError ? error.retryAfterMs : 0;
    await sleep(least + Math.random() * Math.min(500 * 2 ** (failed - 1), 8000), signal);
  }
}

function jobPath(id: string): string {
  return `/v1/jobs/${encodeURIComponent(id)}`;
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason as Error)), { once: true });
  });
}

/** Yields the whole lines of an answer. What a broken connection leaves behind is no line. */
async function* lines(answer: Response): AsyncGenerator<string> {
  if (!answer.body) return;
  const decoder = new TextDecoder();
  const reader = answer.body.getReader();
  let rest = "";
  try {
    for (;;) {
      const part = await reader.read().catch((error: unknown) => {
        throw new ConnectionError(error);
      });
      if (part.done) break;
      rest += decoder.decode(part.value as Uint8Array, { stream: true });
      const whole = rest.split("\n");
      rest = whole.pop() ?? "";
      yield* whole.filter((line) => line !== "");
    }
    if (rest !== "") throw new ConnectionError(new Error("the answer ended in the middle of a line"));
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** How old or how far in the future a webhook may be. */
export const webhookToleranceSeconds = 300;

/**
 * Verifies a webhook and returns its event. It throws if the signature is not that of the secret, or if the message is too old.
 * The body is the text as it was received, before any parsing.
 */
export async function verifyWebhook(body: string, headers: Headers | Record<string, string | undefined>, secret: string, now = Date.now()): Promise<unknown> {
  const header = (name: string) => (headers instanceof Headers ? headers.get(name) : headers[name]) ?? "";
  const [id, timestamp, signatures] = [header("webhook-id"), header("webhook-timestamp"), header("webhook-signature")];
  const age = Math.abs(now / 1000 - Number(timestamp));
  if (!id || !/^[0-9]+$/.test(timestamp) || !(age <= webhookToleranceSeconds)) throw new Error("the webhook has no id, or its timestamp is missing or too old");
  const key = await crypto.subtle.importKey("raw", base64(secret.replace(/^whsec_/, "")), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  for (const one of signatures.split(" ")) {
    const [version, value] = one.split(",", 2);
    if (version === "v1" && value && (await crypto.subtle.verify("HMAC", key, base64(value), signed))) return JSON.parse(body);
  }
  throw new Error("the webhook is not signed with this secret");
}

function base64(text: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}
