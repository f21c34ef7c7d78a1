import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { type ApiError, asApiError, readKey } from "@/api";
import type { File as StoredFile } from "./file";
import { type UploadOptions, uploadFile } from "./upload";

export interface Chosen extends Pick<UploadOptions, "purpose" | "seconds"> {
  file: File;
}

export interface UploadState {
  id: number;
  file: File;
  sent: number;
  state: "waiting" | "sending" | "done" | "failed" | "stopped";
  stored?: StoredFile;
  error?: ApiError;
}

/** Uploads files one after the other. */
export function useUploads(tenant: string) {
  const [list, setList] = useState<UploadState[]>([]);
  const stops = useRef(new Map<number, AbortController>());
  const queries = useQueryClient();
  const set = (id: number, change: Partial<UploadState>) => setList((old) => old.map((u) => (u.id === id ? { ...u, ...change } : u)));
  const stopAll = () => {
    for (const stop of stops.current.values()) stop.abort();
  };
  useEffect(() => {
    const all = stops.current;
    return () => {
      for (const stop of all.values()) stop.abort();
    };
  }, []);

  const start = async (chosen: readonly Chosen[]) => {
    setList(chosen.map(({ file }, id) => ({ id, file, sent: 0, state: "waiting" })));
    stops.current = new Map(chosen.map((_, id) => [id, new AbortController()]));
    for (const [id, { file, ...options }] of chosen.entries()) {
      const signal = stops.current.get(id)?.signal ?? AbortSignal.abort();
      if (signal.aborted) {
        set(id, { state: "stopped" });
        continue;
      }
      set(id, { state: "sending" });
      try {
        const stored = await uploadFile(tenant, file, { ...options, signal, onProgress: (sent) => set(id, { sent }) });
        set(id, { state: "done", sent: file.size, stored });
      } catch (error) {
        if (signal.aborted) set(id, { state: "stopped" });
        else set(id, { state: "failed", error: asApiError(error) });
      }
      for (const path of ["/v1/files", "/v1/storage"]) void queries.invalidateQueries({ queryKey: readKey(tenant, path) });
    }
  };
  const busy = list.some((u) => u.state === "waiting" || u.state === "sending");
  return {
    list,
    busy,
    start: (chosen: readonly Chosen[]) => void start(chosen),
    stop: (id: number) => stops.current.get(id)?.abort(),
    stopAll,
  };
}
