import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, dataOf, readKey } from "@/api";
import { Checkbox } from "@/components/Checkbox";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { toast } from "@/components/Toast";
import { formatCount, plural } from "@/format";
import { Sentences } from "./ConfigSection";

const path = "/admin/v1/config/reload";

/** Shows the changes of a reload by a dry run of the server, and then reloads. */
export function ReloadDialog({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient();
  const [force, setForce] = useState(false);
  const dry = useQuery({
    queryKey: readKey(null, path, "dry run"),
    queryFn: () => dataOf(api(null).POST(path, { params: { query: { dry_run: true } } })),
    staleTime: 0,
    gcTime: 0,
  });
  const reload = useMutation({
    mutationFn: () => dataOf(api(null).POST(path, { params: { query: force ? { force: true } : {} } })),
    onSuccess: (done) => {
      void queries.invalidateQueries({ queryKey: readKey(null, "/admin/v1/config") });
      toast(done.changes.length > 0 ? `Reloaded: ${plural(done.changes.length, "change")} in force` : "Reloaded: nothing changed");
      onClose();
    },
  });
  const plan = dry.data;
  const refused = Boolean(plan?.refusal);
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title="Reload the configuration?"
      effect={
        plan ? (
          <div className="flex flex-col gap-3 text-13">
            {plan.changes.length > 0 ? (
              <Sentences title={`${plural(plan.changes.length, "change")} by this reload`} list={plan.changes} />
            ) : (
              <p>The file has no change. A reload does nothing.</p>
            )}
            {plan.removed_targets.length > 0 && (
              <Sentences
                title="Targets that open jobs lose"
                list={plan.removed_targets.map(
                  (t) => `${t.target}: ${plural(t.items, "open item")}, of which ${formatCount(t.stranded_items)} would fail`,
                )}
              />
            )}
            {plan.refusal && (
              <>
                <p className="text-amber">{plan.refusal}</p>
                <Checkbox label="Reload with force" showLabel checked={force} onChange={setForce} />
              </>
            )}
          </div>
        ) : dry.error ? (
          "The dry run failed, so nothing can be reloaded."
        ) : (
          "Reading the file…"
        )
      }
      undo="To undo it, restore the old file and reload again. Each process reads its own file: reload the others, too."
      typed={refused && force ? "force" : undefined}
      action="Reload configuration"
      danger={refused}
      waiting={!plan || plan.changes.length === 0 || (refused && !force)}
      busy={reload.isPending}
      error={dry.error ?? reload.error}
      onConfirm={() => reload.mutate()}
      call={{ method: "POST", path, query: { dry_run: "true" } }}
    />
  );
}
