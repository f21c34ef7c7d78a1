import createClient, { type Client, type Middleware } from "openapi-fetch";
import { basePath } from "./base";
import { ApiError, errorOf } from "./error";
import { printExact } from "./exact";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];
export type Api = Client<paths, "application/json">;

/** The token of the session against forged requests; the session sets it. */
let csrf = "";

export function setCsrf(token: string): void {
  csrf = token;
}

/** The headers that every call of a person needs. */
export function callHeaders(tenant: string | null, method: string): Record<string, string> {
  const headers: Record<string, string> = {};
  if (tenant) headers["x-penstock-tenant"] = tenant;
  if (method !== "GET" && method !== "HEAD" && csrf) headers["x-penstock-csrf"] = csrf;
  return headers;
}

let onSignedOut = () => {};

/** Sets the action for an answer 401: the session has ended. */
export function whenSignedOut(action: () => void): void {
  onSignedOut = action;
}

/** The session has ended: a call was answered with 401. */
export function signedOut(): void {
  onSignedOut();
}

function middleware(tenant: string | null): Middleware {
  return {
    onRequest({ request }) {
      for (const [name, value] of Object.entries(callHeaders(tenant, request.method))) request.headers.set(name, value);
      return request;
    },
    async onResponse({ response, schemaPath }) {
      if (response.ok) return undefined;
      if (response.status === 401 && schemaPath !== "/v1/me" && !schemaPath.startsWith("/auth/")) signedOut();
      throw await errorOf(response);
    },
    onError({ error }) {
      if (error instanceof ApiError) return error;
      if (error instanceof DOMException && error.name === "AbortError") return error;
      return new ApiError(0, { message: "The server cannot be reached. Check that Penstock runs and that this machine is online." }, null);
    },
  };
}

const promptName = /^[0-9A-Za-z][\w.-]*(\/[0-9A-Za-z][\w.-]*)*$/;

/** Fills in the parameters of a path. The names of prompts keep their slashes, because some proxies refuse %2F. */
export function fillPath(path: string, values: Record<string, unknown>): string {
  return path.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    if (value == null) return whole;
    const text = String(value);
    return name === "name" && path.startsWith("/v1/prompts/") && promptName.test(text) ? text : encodeURIComponent(text);
  });
}

const clients = new Map<string, Api>();

/** The typed client for a tenant, or for all tenants (null). Its calls reject with an ApiError for every answer that is not 2xx. */
export function api(tenant: string | null): Api {
  const known = clients.get(tenant ?? "");
  if (known) return known;
  const client = createClient<paths, "application/json">({
    baseUrl: basePath,
    credentials: "same-origin",
    pathSerializer: fillPath,
    bodySerializer: (body) => printExact(body),
  });
  client.use(middleware(tenant));
  clients.set(tenant ?? "", client);
  return client;
}

/** The data of a call. The middleware has thrown for answers without. */
export async function dataOf<T>(call: Promise<{ data?: T }>): Promise<NonNullable<T>> {
  const { data } = await call;
  if (data == null) throw new ApiError(200, { message: "The server answered without a body." }, null);
  return data;
}
