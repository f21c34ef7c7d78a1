import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, readKey } from "@/api";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { toast } from "@/components/Toast";
import { plural } from "@/format";
import type { RunSummary } from "../api";
import { usePlayground } from "../state";
import { runTitle } from "./words";

export function DeleteDialog({ run, onDeleted, onClose }: { run: RunSummary; onDeleted: () => void; onClose: () => void }) {
  const { tenant } = usePlayground();
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => api(tenant).DELETE("/v1/playground/runs/{id}", { params: { path: { id: run.id } } }),
    onSuccess: () => {
      onDeleted();
      void queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/playground/runs") });
      toast("Run deleted");
      onClose();
    },
  });
  const cells = Object.values(run.counts).reduce((sum, n) => sum + n, 0);
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title="Delete this run?"
      effect={
        <>
          <span className="font-medium">{runTitle(run)}</span> with {plural(cells, "output")}, their ratings and comments, and all links to
          it.
        </>
      }
      undo="This cannot be undone. Your present setup stays."
      action="Delete run"
      danger
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      call={{ method: "DELETE", path: `/v1/playground/runs/${run.id}` }}
    />
  );
}
