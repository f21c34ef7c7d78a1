import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, dataOf, readKey } from "@/api";
import { Field, Input } from "@/components/Field";
import { FormDialog } from "@/components/FormDialog";
import type { RunSummary } from "../api";
import { usePlayground } from "../state";

/** The name of a run, to find it by. An empty name removes it. */
export function RenameDialog({ run, onClose }: { run: RunSummary; onClose: () => void }) {
  const { tenant, follower } = usePlayground();
  const queries = useQueryClient();
  const [name, setName] = useState(run.name ?? "");
  const body = { name: name.trim() || null };
  const save = useMutation({
    mutationFn: () =>
      dataOf(api(tenant).PATCH("/v1/playground/runs/{id}", { params: { path: { id: run.id }, header: { "If-Match": run.etag } }, body })),
    onSuccess: (changed) => {
      if (follower?.id === run.id) follower.take(changed);
      void queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/playground/runs") });
      onClose();
    },
  });
  return (
    <FormDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title="Rename run"
      action="Save name"
      ready={body.name !== run.name}
      busy={save.isPending}
      error={save.error ?? undefined}
      onSubmit={() => save.mutate()}
      call={{ method: "PATCH", path: `/v1/playground/runs/${run.id}`, body }}
    >
      <Field label="Name">
        <Input autoFocus value={name} placeholder="Refund tone, round 3" onChange={(e) => setName(e.target.value)} />
      </Field>
    </FormDialog>
  );
}
