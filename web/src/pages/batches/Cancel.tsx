import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, read, readKey } from "@/api";
import { ConfirmDialog, typedCount } from "@/components/ConfirmDialog";
import { toast } from "@/components/Toast";
import { formatCost, formatCount, plural } from "@/format";
import { isWhole } from "@/needs/needs";
import { type Batch, batchName, openItems, ownPath } from "./batch";

interface Props {
  tenant: string;
  batch: Batch;
  onClose: () => void;
}

/** Calls the cancel of the batch's own dialect. */
function cancelBatch(tenant: string, b: Batch): Promise<unknown> {
  const params = { path: { id: b.batch_id } };
  if (b.dialect === "openai") return api(tenant).POST("/v1/batches/{id}/cancel", { params });
  if (b.dialect === "anthropic") return api(tenant).POST("/v1/messages/batches/{id}/cancel", { params });
  return api(tenant).POST("/v1/jobs/{id}/cancel", { params });
}

/** Says how many items are still open and what the tenant holds for open work, then cancels. */
export function CancelBatch({ tenant, batch, onClose }: Props) {
  const [b] = useState(batch); // as the person saw it: the count to type must not move
  const queries = useQueryClient();
  const budgets = useQuery(read(tenant, "/v1/budgets"));
  const held = budgets.data?.data.find(isWhole)?.held_usd;
  const cancel = useMutation({
    mutationFn: () => cancelBatch(tenant, b),
    onSuccess: () => {
      toast("Batch cancelled", { description: "Items that run now may still end." });
      void queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/batches/{id}/progress") });
      onClose();
    },
  });
  const open = openItems(b.counts);
  return (
    <ConfirmDialog
      open
      onOpenChange={(o) => !o && onClose()}
      title={`Cancel ${batchName(b)}?`}
      effect={
        <>
          <p>
            {plural(open, "item is", "items are")} still open: {formatCount(b.counts.queued)} queued and {formatCount(b.counts.running)}{" "}
            running. They become cancelled. {plural(b.counts.succeeded, "item")} that succeeded{" "}
            {b.counts.succeeded === 1 ? "keeps its result" : "keep their results"}.
          </p>
          {held && (
            <p className="mt-2 text-13 text-ink-2">
              The reservations of the open items are freed. This tenant now holds {formatCost(held)} for all its open work.
            </p>
          )}
        </>
      }
      undo="This cannot be undone. Cancelled items can be retried in a new job."
      typed={typedCount(open)}
      action="Cancel batch"
      danger
      busy={cancel.isPending}
      error={cancel.error ?? undefined}
      onConfirm={() => cancel.mutate()}
      call={{ method: "POST", path: `${ownPath(b)}/cancel` }}
    />
  );
}
