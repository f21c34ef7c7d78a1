import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A process of Penstock with a data directory of its own. */
export interface Started {
  data: string;
  output: () => string;
  /** Stops the process and removes its data. */
  stop: () => Promise<void>;
  /** Stops the process; `again` starts it with the same data. */
  pause: () => Promise<void>;
  again: () => Promise<void>;
}

interface Options {
  args: string[];
  /** A text of the output after which the process serves. */
  ready: RegExp;
  /** How long that may take; 30 s if it is not given. */
  withinMs?: number;
  env?: Record<string, string>;
  /** The configuration of `serve`; `{{data}}` is the data directory. */
  config?: string;
}

const bin = () => process.env.PENSTOCK_BIN ?? join(import.meta.dirname, "../../bin/penstock");

/** Starts the real binary on free ports of loopback. */
export async function penstock({ args, ready, withinMs = 30_000, env = {}, config }: Options): Promise<Started> {
  const data = mkdtempSync(join(tmpdir(), "penstock-e2e-"));
  const all = { ...process.env, PENSTOCK_LISTEN: "127.0.0.1:0", PENSTOCK_ADMIN_LISTEN: "127.0.0.1:0", PENSTOCK_DATA: data, ...env };
  if (config) {
    writeFileSync(join(data, "penstock.yaml"), config.replaceAll("{{data}}", data));
    args = [...args, "--config", join(data, "penstock.yaml")];
  }
  let text = "";
  let child: ChildProcess;
  const run = () => {
    text = "";
    child = spawn(bin(), args, { env: all, cwd: data, stdio: ["ignore", "pipe", "pipe"] });
    return until(child, ready, withinMs, (piece) => {
      text += piece;
      return text;
    });
  };
  const pause = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
  };
  await run();
  const stop = async () => {
    await pause();
    rmSync(data, { recursive: true, force: true });
  };
  return { data, output: () => text, stop, pause, again: run };
}

/** Waits until the output of a process has a text. */
function until(child: ChildProcess, ready: RegExp, withinMs: number, add: (piece: string) => string): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`${child.spawnargs.join(" ")} was not ready in ${withinMs / 1000} s:\n${add("")}`)),
      withinMs,
    );
    child.once("exit", (code) => reject(new Error(`${child.spawnargs.join(" ")} ended with ${code}:\n${add("")}`)));
    const see = (piece: Buffer) => {
      if (!ready.test(add(piece.toString()))) return;
      clearTimeout(timer);
      resolve();
    };
    child.stdout?.on("data", see);
    child.stderr?.on("data", see);
  });
}

/** A free port of loopback, for servers that must return to the same address. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => (address && typeof address === "object" ? resolve(address.port) : reject(new Error("no port"))));
    });
  });
}
