import { readFileSync } from "node:fs";
import { server } from "./server";

/** Calls the API of a tenant with the session in a file, as the pages do. */
export async function asPerson<T>(method: string, path: string, body?: unknown, who = { ...server() } as Who): Promise<T> {
  const { cookies } = JSON.parse(readFileSync(who.state, "utf8")) as { cookies: { name: string; value: string }[] };
  const headers: Record<string, string> = {
    cookie: cookies.map((c) => `${c.name}=${c.value}`).join("; "),
    origin: who.url,
    "x-penstock-tenant": who.tenant,
    "content-type": "application/json",
  };
  if (method !== "GET") {
    const me = (await (await fetch(`${who.url}/v1/me`, { headers })).json()) as { csrf: string };
    headers["x-penstock-csrf"] = me.csrf;
  }
  const response = await fetch(who.url + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

interface Who {
  url: string;
  state: string;
  tenant: string;
}
