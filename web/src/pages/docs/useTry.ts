import { useEffect, useRef, useState } from "react";
import { asApiError, basePath } from "@/api";
import { callHeaders } from "@/api/client";
import { addressOf, headersOf, type Values } from "./call";
import type { Operation } from "./spec";

/** The most text of an answer that the page keeps. */
export const keptChars = 1_000_000;

export interface TryAnswer {
  state: "waiting" | "reading" | "done" | "stopped" | "failed";
  status?: number;
  statusText?: string;
  headers: [string, string][];
  /** Milliseconds to the headers, and to the end. */
  firstMs?: number;
  totalMs?: number;
  text: string;
  cut: boolean;
  error?: string;
}

export interface TryCall {
  op: Operation;
  values: Values;
  tenant: string | null;
  version: string | undefined;
  body: BodyInit | undefined;
  json: boolean;
}

const nothing: TryAnswer = { state: "waiting", headers: [], text: "", cut: false };

/** Sends calls with the session of the person, and shows the answer while it arrives. */
export function useTry() {
  const [answer, setAnswer] = useState<TryAnswer | null>(null);
  const running = useRef<AbortController>(null);
  useEffect(() => () => running.current?.abort(), []);

  const send = async (call: TryCall) => {
    running.current?.abort();
    const stop = new AbortController();
    running.current = stop;
    const update = (change: (old: TryAnswer) => TryAnswer) => !isOld(stop) && setAnswer((old) => change(old ?? nothing));
    const isOld = (own: AbortController) => running.current !== own;
    const start = performance.now();
    setAnswer(nothing);
    try {
      const response = await fetch(basePath + addressOf(call.op, call.values), {
        method: call.op.method,
        headers: allHeaders(call),
        credentials: "same-origin",
        cache: "no-store",
        signal: stop.signal,
        ...(call.body === undefined ? {} : { body: call.body }),
      });
      update((old) => ({
        ...old,
        state: "reading",
        status: response.status,
        statusText: response.statusText,
        headers: [...response.headers],
        firstMs: performance.now() - start,
      }));
      await readText(response, (piece) => update((old) => withPiece(old, piece)));
      update((old) => ({ ...old, state: "done", totalMs: performance.now() - start }));
    } catch (error) {
      const stopped = stop.signal.aborted;
      const reason = stopped ? {} : { error: asApiError(error).message };
      update((old) => ({ ...old, state: stopped ? "stopped" : "failed", totalMs: performance.now() - start, ...reason }));
    }
  };
  return { answer, send: (call: TryCall) => void send(call), stop: () => running.current?.abort(), clear: () => setAnswer(null) };
}

function allHeaders({ op, values, tenant, version, json }: TryCall): Record<string, string> {
  return {
    ...headersOf(op, values),
    ...callHeaders(tenant, op.method),
    ...(json ? { "content-type": "application/json" } : {}),
    ...(version ? { "penstock-version": version } : {}),
  };
}

function withPiece(old: TryAnswer, piece: string): TryAnswer {
  const room = keptChars - old.text.length;
  return { ...old, text: old.text + piece.slice(0, Math.max(0, room)), cut: old.cut || piece.length > room };
}

async function readText(response: Response, onPiece: (piece: string) => void): Promise<void> {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    onPiece(value);
  }
}
