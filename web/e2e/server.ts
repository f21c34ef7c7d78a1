import { readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FullConfig } from "@playwright/test";
import { penstock, type Started } from "./penstock";
import { seed } from "./seed";

/** A running server of the tests. Tests read it with `server()`. */
export interface Server {
  url: string;
  key: string; // of the tenant of penstock dev
  adminKey: string;
  adminURL: string;
  tenant: string;
  sim: string; // the simulated upstream, for /sim/release
  link: string; // the token of the sign-in link; one test uses it
  state: string; // the file with the session of an admin
}

/** The server of this worker. Tests in one worker run one after the other, so no other test changes it meanwhile. */
export function server(): Server {
  const all = JSON.parse(process.env.PENSTOCK_E2E ?? "[]") as Server[];
  const mine = all[Number(process.env.TEST_PARALLEL_INDEX ?? 0)];
  if (!mine) throw new Error("no server was started for this worker");
  return mine;
}

/** Starts `penstock dev` for each worker, signs in once, and fills in some work. PENSTOCK_E2E_DEMO starts the demo instead. */
export default async function start(config: FullConfig): Promise<() => Promise<void>> {
  const one = process.env.PENSTOCK_E2E_DEMO ? startDemo : startOne;
  const started = await Promise.all(Array.from({ length: config.workers }, one));
  process.env.PENSTOCK_E2E = JSON.stringify(started.map((s) => s.server));
  return async () => {
    await Promise.all(started.map((s) => s.process.stop()));
  };
}

async function startOne(): Promise<{ process: Started; server: Server }> {
  const process = await penstock({ args: ["dev"], ready: /PENSTOCK_ADMIN_KEY=\S+\s/ });
  const find = (pattern: RegExp) => pattern.exec(process.output())?.[1] ?? "";
  const server: Server = {
    url: find(/API +(http\S+)/),
    adminURL: find(/Metrics +(http\S+)\/metrics/),
    key: find(/OPENAI_API_KEY=(\S+)/),
    adminKey: find(/PENSTOCK_ADMIN_KEY=(\S+)/),
    tenant: "demo",
    sim: find(/simulated, at (http[^)\s]+)/),
    link: find(/sign-in#token=(\S+)/),
    state: join(process.data, "session.json"),
  };
  await keepSession(server.url, server.adminKey, server.state);
  await seed(server);
  return { process, server };
}

async function startDemo(): Promise<{ process: Started; server: Server }> {
  const process = await penstock({
    args: ["dev", "--demo"],
    ready: /psk_\S+" +# northwind-support/,
    withinMs: 120_000,
    env: { PENSTOCK_DATA: "penstock-demo" },
  });
  const find = (pattern: RegExp) => pattern.exec(process.output())?.[1] ?? "";
  const adminURL = find(/Admin API +(http\S+)/);
  const adminKey = readFileSync(join(process.data, "penstock-demo", "admin-key"), "utf8").trim();
  const tenant = "lumen-shop"; // it has files, batches and dead letters
  const server: Server = {
    url: find(/API +(http\S+)/),
    adminURL,
    key: await newKey(adminURL, adminKey, tenant),
    adminKey,
    tenant,
    sim: "",
    link: find(/sign-in#token=(\S+)/),
    state: join(process.data, "session.json"),
  };
  await keepSession(server.url, server.adminKey, server.state);
  return { process, server };
}

/** Makes a key of a tenant. */
async function newKey(adminURL: string, adminKey: string, tenant: string): Promise<string> {
  const response = await fetch(`${adminURL}/admin/v1/keys`, {
    method: "POST",
    headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
    body: JSON.stringify({ tenant, name: "pictures" }),
  });
  return ((await response.json()) as { secret: string }).secret;
}

/** Signs in with an operator's key, and keeps the cookie in a file as the storage state of a browser context. */
export async function keepSession(url: string, key: string, file = join(tmpdir(), `penstock-session-${crypto.randomUUID()}.json`)) {
  const response = await fetch(`${url}/auth/key`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: new URL(url).origin },
    body: JSON.stringify({ key }),
  });
  const cookie = response.headers.get("set-cookie");
  if (!cookie) throw new Error(`POST /auth/key answered ${response.status}: ${await response.text()}`);
  keepCookie(url, cookie, file);
  return file;
}

/** Keeps a cookie of the server in a file, as the storage state of a browser context. */
export function keepCookie(url: string, setCookie: string, file: string): void {
  const [, name, value] = /^([^=]+)=([^;]+)/.exec(setCookie) ?? [];
  const { hostname } = new URL(url);
  const cookies = [{ name, value, domain: hostname, path: "/", expires: -1, httpOnly: true, secure: false, sameSite: "Lax" }];
  writeFileSync(file, JSON.stringify({ cookies, origins: [] }), { mode: 0o600 });
}
