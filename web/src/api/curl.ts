import { serverURL } from "./base";

export interface CurlCall {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  query?: Record<string, string | number | undefined>;
  body?: unknown;
}

/** A word of a shell command: in single quotes where the shell would read it otherwise. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** The curl command of a call, with the real address. The key stays in the environment. */
export function curlOf(call: CurlCall, server = serverURL()): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(call.query ?? {})) if (value !== undefined) query.set(name, String(value));
  const search = query.size > 0 ? `?${query}` : "";
  const method = call.method && call.method !== "GET" ? ` -X ${call.method}` : "";
  const lines = [`curl${method} ${shellWord(server + call.path + search)}`, `-H "Authorization: Bearer $PENSTOCK_KEY"`];
  if (call.body !== undefined) lines.push("-H 'Content-Type: application/json'", `-d ${shellWord(JSON.stringify(call.body))}`);
  return lines.join(" \\\n  ");
}
