import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Pencil, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { api, asApiError, curlOf, dataOf, read, readKey } from "@/api";
import { Button, IconButton } from "@/components/Button";
import { Card } from "@/components/Card";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { Skeleton, useSlow } from "@/components/Skeleton";
import { EmptyState, ErrorPanel } from "@/components/States";
import { TimeAgo } from "@/components/Time";
import { toast } from "@/components/Toast";
import type { Column } from "@/components/table/column";
import { PlainTable } from "@/components/table/PlainTable";
import { PageBody } from "@/frame/Page";
import { useOneTenant } from "@/routes";
import { useRole } from "@/session";
import { LabelChip } from "./Names";
import { ProtectionForm } from "./ProtectionForm";
import { type Protection, personWord } from "./prompt";

type Asking = { what: "add" } | { what: "edit" | "remove"; protection: Protection } | null;

/** The protected labels of the tenant. Admins change them. */
export function Protections() {
  const tenant = useOneTenant();
  const mayChange = useRole(tenant);
  const [asking, setAsking] = useState<Asking>(null);
  const list = useQuery(read(tenant, "/v1/prompt_protections"));
  const slow = useSlow(list.isPending);
  if (list.error && !list.data) return <ErrorPanel error={list.error} onRetry={() => void list.refetch()} />;
  const close = () => setAsking(null);
  const add = mayChange && (
    <Button icon={Plus} onClick={() => setAsking({ what: "add" })}>
      Protect a label…
    </Button>
  );
  const rows = list.data?.data ?? [];
  return (
    <div className="min-h-0 flex-1 overflow-y-auto pt-4">
      {slow && <Skeleton className="mx-6 h-24" />}
      {list.data && rows.length === 0 && <NoProtections action={add} />}
      {rows.length > 0 && (
        <PageBody>
          <Card title="Protected labels" note="A move needs a role, and an approval if that is asked for" aside={add}>
            <PlainTable label="Protected labels" columns={columnsFor(mayChange, setAsking)} rows={rows} idOf={(p) => p.label} />
          </Card>
        </PageBody>
      )}
      {asking?.what === "add" && <ProtectionForm taken={rows.map((p) => p.label)} onClose={close} />}
      {asking?.what === "edit" && <ProtectionForm protection={asking.protection} taken={[]} onClose={close} />}
      {asking?.what === "remove" && <RemoveDialog protection={asking.protection} onClose={close} />}
    </div>
  );
}

function NoProtections({ action }: { action: React.ReactNode }) {
  return (
    <EmptyState
      title="No label is protected"
      command={curlOf({
        method: "PUT",
        path: "/v1/prompt_protections/production",
        body: { prompts: ["support/"], roles: ["operator"], approval: true },
      })}
      action={action}
    >
      Everyone who may change prompts may move every label. An admin can protect one, such as production: then a move needs a role, or the
      approval of somebody who did not write the version.
    </EmptyState>
  );
}

function columnsFor(mayChange: boolean, ask: (asking: Asking) => void): Column<Protection>[] {
  const columns: Column<Protection>[] = [
    { id: "label", header: "Label", width: "160px", narrow: "lead", cell: (p) => <LabelChip label={p.label} protect /> },
    { id: "prompts", header: "Prompts", width: "320px", narrow: "line", cell: (p) => <Covered prompts={p.prompts} /> },
    { id: "roles", header: "Roles that may move it", width: "200px", narrow: "line", cell: (p) => p.roles.join(", ") },
    { id: "approval", header: "Approval", width: "160px", narrow: "line", cell: (p) => (p.approval ? "by somebody else" : "none") },
    { id: "by", header: "Set by", width: "160px", narrow: "hide", cell: (p) => personWord(p.updated_by) },
    { id: "at", header: "Changed", width: "80px", align: "right", narrow: "hide", cell: (p) => <TimeAgo iso={p.updated_at} /> },
  ];
  if (!mayChange) return columns;
  const acts: Column<Protection> = {
    id: "acts",
    header: "Actions",
    quiet: true,
    width: "72px",
    align: "right",
    narrow: "side",
    cell: (protection) => (
      <>
        <IconButton
          small
          icon={Pencil}
          label={`Change the protection of ${protection.label}`}
          onClick={() => ask({ what: "edit", protection })}
        />
        <IconButton
          small
          icon={Trash2}
          label={`Remove the protection of ${protection.label}`}
          onClick={() => ask({ what: "remove", protection })}
        />
      </>
    ),
  };
  return [...columns, acts];
}

function Covered({ prompts }: { prompts: readonly string[] }) {
  if (prompts.length === 0) return "all";
  return (
    <span className="font-mono text-12" title={prompts.join("\n")}>
      {prompts.join(", ")}
    </span>
  );
}

function RemoveDialog({ protection, onClose }: { protection: Protection; onClose: () => void }) {
  const tenant = useOneTenant();
  const queries = useQueryClient();
  const reread = () => void queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/prompt_protections") });
  const path = { label: protection.label };
  const put = () =>
    dataOf(
      api(tenant).PUT("/v1/prompt_protections/{label}", {
        params: { path, header: { "If-None-Match": "*" } },
        body: { prompts: protection.prompts, roles: protection.roles, approval: protection.approval },
      }),
    );
  const remove = useMutation({
    mutationFn: () =>
      dataOf(api(tenant).DELETE("/v1/prompt_protections/{label}", { params: { path, header: { "If-Match": protection.etag } } })),
    onSuccess: () => {
      toast(`${protection.label} is not protected any more`, {
        undo: () =>
          void put().then(reread, (error: unknown) => toast("The protection is not back", { description: asApiError(error).message })),
      });
      onClose();
    },
    onSettled: reread,
  });
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Remove the protection of ${protection.label}?`}
      effect="Everyone who may change prompts may then move the label, without an approval."
      undo="You can undo it, or protect the label again."
      typed={protection.label}
      action="Remove protection"
      danger
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      call={{ method: "DELETE", path: `/v1/prompt_protections/${protection.label}` }}
    />
  );
}
