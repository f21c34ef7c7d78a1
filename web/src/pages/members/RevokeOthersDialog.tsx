import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, read, readKey } from "@/api";
import { ConfirmDialog, typedCount } from "@/components/ConfirmDialog";
import { toast } from "@/components/Toast";
import { plural } from "@/format";
import type { Session } from "./data";

/** Ends all sessions of a person but one. The server lists them first, 1,000 at the most. */
export function RevokeOthersDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const queries = useQueryClient();
  const list = useQuery({
    ...read(null, "/admin/v1/sessions", { params: { query: { person: session.person, limit: 1000 } } }),
    staleTime: 0,
  });
  const others = list.data?.data.filter((s) => s.id !== session.id) ?? [];
  const revoke = useMutation({
    mutationFn: async () => {
      for (const other of others) {
        await api(null).DELETE("/admin/v1/sessions/{session}", { params: { path: { session: other.id } } });
      }
      return others.length;
    },
    onSuccess: (count) => {
      toast(`${plural(count, "session")} of ${session.name} revoked`);
      onClose();
    },
    onSettled: () => void queries.invalidateQueries({ queryKey: readKey(null, "/admin/v1/sessions") }),
  });
  const mine = others.some((s) => s.current);
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Revoke all other sessions of ${session.name}?`}
      effect={
        list.isPending
          ? "Counting the sessions…"
          : `${plural(others.length, "other session")} of this person end in every process within a second. ${mine ? "One of them is yours: you will be signed out." : ""}`
      }
      undo="The person can sign in again. To keep a person out, remove their roles, too."
      typed={typedCount(others.length)}
      action={`Revoke ${plural(others.length, "session")}`}
      danger
      waiting={list.isPending || others.length === 0}
      busy={revoke.isPending}
      error={list.error ?? revoke.error}
      onConfirm={() => revoke.mutate()}
    />
  );
}
