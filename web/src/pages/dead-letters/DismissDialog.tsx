import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { readKey } from "@/api";
import { ConfirmDialog, typedCount } from "@/components/ConfirmDialog";
import { ErrorPanel } from "@/components/States";
import { toast } from "@/components/Toast";
import { plural } from "@/format";
import { useOneTenant } from "@/routes";
import { dismissAll, type Filter, tryDismiss } from "./replay";

/** Takes dead letters off the list, after the count of the server's dry run. */
export function DismissDialog({
  what,
  filters,
  onClose,
  onDone,
}: {
  what: string;
  filters: Filter[];
  onClose: () => void;
  onDone: () => void;
}) {
  const tenant = useOneTenant();
  const queries = useQueryClient();
  const dry = useQuery({
    queryKey: [tenant, "dead-letters-dismiss-dry-run", filters],
    queryFn: () => tryDismiss(tenant, filters),
    staleTime: 0,
    gcTime: 0,
  });
  const count = dry.data?.reduce((sum, n) => sum + n, 0) ?? 0;
  const dismiss = useMutation({
    mutationFn: () => dismissAll(tenant, filters, dry.data ?? []),
    onSuccess: (done) => {
      toast(`${plural(done, "dead letter")} dismissed`);
      onDone();
      onClose();
    },
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/dead_letters") });
      void queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/dead_letters/items") });
    },
  });
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Dismiss ${what}`}
      effect={
        dry.error ? (
          <ErrorPanel error={dry.error} onRetry={() => void dry.refetch()} />
        ) : (
          <p aria-live="polite">
            {dry.data ? (
              <>
                <span className="num font-semibold">{plural(count, "dead letter")}</span> {count === 1 ? "leaves" : "leave"} this list.
              </>
            ) : (
              "Counting…"
            )}
          </p>
        )
      }
      undo="This cannot be undone here. The items stay failed in their jobs, and a retry of the job runs them again. The audit records it with your name."
      typed={typedCount(count)}
      action={dry.data ? `Dismiss ${plural(count, "item")}` : "Dismiss"}
      danger
      waiting={!dry.data || count === 0}
      busy={dismiss.isPending}
      error={dismiss.error}
      onConfirm={() => dismiss.mutate()}
      call={{ method: "POST", path: "/v1/dead_letters/dismiss", body: { filter: filters[0] } }}
    />
  );
}
