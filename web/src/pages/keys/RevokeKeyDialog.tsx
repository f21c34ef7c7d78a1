import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, dataOf } from "@/api";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { TimeAgo } from "@/components/Time";
import { toast } from "@/components/Toast";
import { type Key, tenantsChanged } from "@/pages/tenants/data";

export function RevokeKeyDialog({ apiKey, onClose }: { apiKey: Key; onClose: () => void }) {
  const queries = useQueryClient();
  const revoke = useMutation({
    mutationFn: () => dataOf(api(null).DELETE("/admin/v1/keys/{key}", { params: { path: { key: apiKey.id } } })),
    onSuccess: () => {
      tenantsChanged(queries);
      toast(`Key ${apiKey.name} revoked`, { description: "It is refused in every process within a second." });
      onClose();
    },
  });
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Revoke the key ${apiKey.name}?`}
      effect={
        <>
          The key <span className="font-mono text-12">{apiKey.prefix}…</span> of {apiKey.tenant} is refused in every process within a
          second. Calls that run with it end.{" "}
          {apiKey.last_used_at ? (
            <>
              It was last used <TimeAgo iso={apiKey.last_used_at} suffix=" ago" />.
            </>
          ) : (
            "It was never used."
          )}{" "}
          Accepted jobs go on.
        </>
      }
      undo="This cannot be undone. To replace the key without a gap, rotate it instead."
      typed={apiKey.name}
      action="Revoke key"
      danger
      busy={revoke.isPending}
      error={revoke.error}
      onConfirm={() => revoke.mutate()}
      call={{ method: "DELETE", path: `/admin/v1/keys/${apiKey.id}` }}
    />
  );
}
