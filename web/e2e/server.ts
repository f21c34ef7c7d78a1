import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seed } from "./seed";

/** A running server of the tests. Tests read it with `server()`. */
export interface Server {
  url: string;
  key: string; // of the tenant of penstock dev
  adminKey: string;
  adminURL: string;
  tenant: string;
}

export function server(): Server {
  return JSON.parse(process.env.PENSTOCK_E2E ?? "{}") as Server;
}

/** Where the session of the admin lies, for tests that do not test the sign-in. */
export const adminState = join(tmpdir(), `penstock-e2e-${process.pid}.json`);

/** Starts `penstock dev`, signs in once by its link, and fills in some work. */
export default async function start(): Promise<() => Promise<void>> {
  const data = mkdtempSync(join(tmpdir(), "penstock-e2e-"));
  const bin = process.env.PENSTOCK_BIN ?? join(import.meta.dirname, "../../bin/penstock");
  const env = { ...process.env, PENSTOCK_LISTEN: "127.0.0.1:0", PENSTOCK_ADMIN_LISTEN: "127.0.0.1:0", PENSTOCK_DATA: data };
  const child = spawn(bin, ["dev"], { env, cwd: data, stdio: ["ignore", "pipe", "inherit"] });
  const text = await greeting(child);
  const find = (pattern: RegExp) => pattern.exec(text)?.[1] ?? "";
  const started: Server = {
    url: find(/API +(http\S+)/),
    adminURL: find(/Metrics +(http\S+)\/metrics/),
    key: find(/OPENAI_API_KEY=(\S+)/),
    adminKey: find(/PENSTOCK_ADMIN_KEY=(\S+)/),
    tenant: "demo",
  };
  process.env.PENSTOCK_E2E = JSON.stringify(started);
  process.env.PENSTOCK_E2E_LINK = find(/sign-in#token=(\S+)/);
  process.env.PENSTOCK_E2E_STATE = adminState;
  await signInByKey(started);
  await seed(started);
  return async () => {
    child.kill("SIGTERM");
    await new Promise((resolve) => child.once("exit", resolve));
    rmSync(data, { recursive: true, force: true });
    rmSync(adminState, { force: true });
  };
}

/** What `penstock dev` prints until it is ready. */
function greeting(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const timer = setTimeout(() => reject(new Error(`penstock dev was not ready in 30 s:\n${text}`)), 30_000);
    child.once("exit", (code) => reject(new Error(`penstock dev ended with ${code}:\n${text}`)));
    child.stdout?.on("data", (piece: Buffer) => {
      text += piece.toString();
      if (!/PENSTOCK_ADMIN_KEY=\S+\s/.test(text)) return;
      clearTimeout(timer);
      resolve(text);
    });
  });
}

/** Signs in with the admin key and keeps the cookie as the storage state of a browser context. */
async function signInByKey(s: Server): Promise<void> {
  const response = await fetch(`${s.url}/auth/key`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: s.url },
    body: JSON.stringify({ key: s.adminKey }),
  });
  const cookie = /^([^=]+)=([^;]+)/.exec(response.headers.get("set-cookie") ?? "");
  if (!cookie) throw new Error(`POST /auth/key answered ${response.status}: ${await response.text()}`);
  const { hostname } = new URL(s.url);
  const state = {
    cookies: [
      { name: cookie[1], value: cookie[2], domain: hostname, path: "/", expires: -1, httpOnly: true, secure: false, sameSite: "Lax" },
    ],
    origins: [],
  };
  writeFileSync(adminState, JSON.stringify(state), { mode: 0o600 });
}
