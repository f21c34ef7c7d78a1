import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, dataOf, readKey } from "@/api";
import type { Run, Setup } from "./api";
import type { RunFollower } from "./run/follower";

/** The acts on runs: start, stop, resume. Each asks the server, and the page shows its answer. */
export function useActs(tenant: string, follower: RunFollower | null, onStarted: (run: Run) => void) {
  const queries = useQueryClient();
  const again = () => void queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/playground/runs") });
  const start = useMutation({
    mutationFn: (setup: Setup) => dataOf(api(tenant).POST("/v1/playground/runs", { body: { name: null, setup } })),
    onSuccess: (run) => {
      onStarted(run);
      again();
    },
  });
  const stop = useMutation({
    mutationFn: (column: number | null) => {
      if (!follower) throw new Error("No run is shown.");
      return dataOf(api(tenant).POST("/v1/playground/runs/{id}/stop", { params: { path: { id: follower.id } }, body: { column } }));
    },
    onSuccess: (run) => {
      follower?.take(run);
      again();
    },
  });
  const resume = useMutation({
    mutationFn: () => {
      if (!follower) throw new Error("No run is shown.");
      return dataOf(api(tenant).POST("/v1/playground/runs/{id}/resume", { params: { path: { id: follower.id } } }));
    },
    onSuccess: (run) => {
      follower?.take(run);
      again();
    },
  });
  return { start, stop, resume };
}

export type Acts = ReturnType<typeof useActs>;
