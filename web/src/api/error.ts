import type { components } from "./schema";

export type ErrorBody = components["schemas"]["ErrorBody"];

/** An error that the server answered, or the failure to reach it (status 0). */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | null;
  readonly retryable: boolean;
  readonly param: string | null;

  constructor(status: number, body: Partial<ErrorBody>, requestId: string | null) {
    super(body.message ?? "The server gave no reason.");
    this.name = "ApiError";
    this.status = status;
    this.code = body.code ?? (status === 0 ? "unreachable" : `http_${status}`);
    this.requestId = body.request_id ?? requestId;
    this.retryable = body.retryable ?? (status === 0 || status >= 500);
    this.param = body.param ?? null;
  }
}

/** Reads the error out of an answer that is not 2xx. */
export async function errorOf(response: Response): Promise<ApiError> {
  const requestId = response.headers.get("x-request-id");
  try {
    const body = (await response.json()) as { error?: Partial<ErrorBody> };
    return new ApiError(response.status, body.error ?? {}, requestId);
  } catch {
    return new ApiError(response.status, { message: `The server answered ${response.status} ${response.statusText}`.trim() }, requestId);
  }
}

/** What to show of any error. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const status = error instanceof Error && "status" in error && typeof error.status === "number" ? error.status : 0;
  const message = error instanceof Error ? error.message : String(error);
  return new ApiError(status, { message }, null);
}
