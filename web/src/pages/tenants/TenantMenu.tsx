import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Ban, CirclePlay, MoreHorizontal, ScrollText, Trash2 } from "lucide-react";
import { useState } from "react";
import { api, dataOf, read } from "@/api";
import { IconButton } from "@/components/Button";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { Menu, MenuItem, MenuSeparator } from "@/components/Menu";
import { toast } from "@/components/Toast";
import { missing, plural } from "@/format";
import { activeKeys, type Key, type Tenant, tenantsChanged, useTenantChange } from "./data";

/** Disable, enable and delete. A tenant of the file can only be changed there. */
export function TenantMenu({ tenant, keys }: { tenant: Tenant; keys: readonly Key[] | undefined }) {
  const [asked, setAsked] = useState<"disable" | "delete" | null>(null);
  const navigate = useNavigate();
  const change = useTenantChange(tenant.id);
  const inFile = tenant.source === "file";
  const enable = () => change.mutate({ body: { enabled: true } }, { onSuccess: () => toast(`Tenant ${tenant.id} enabled`) });
  return (
    <>
      <Menu trigger={<IconButton icon={MoreHorizontal} label="More actions" look="plain" />}>
        <MenuItem icon={ScrollText} onSelect={() => void navigate({ to: "/all/audit", search: { tenant: tenant.id } })}>
          Audit of the tenant
        </MenuItem>
        <MenuSeparator />
        {tenant.enabled ? (
          <MenuItem icon={Ban} disabled={inFile} onSelect={() => setAsked("disable")}>
            Disable tenant…
          </MenuItem>
        ) : (
          <MenuItem icon={CirclePlay} disabled={inFile} onSelect={enable}>
            Enable tenant
          </MenuItem>
        )}
        <MenuItem icon={Trash2} danger disabled={inFile} onSelect={() => setAsked("delete")}>
          Delete tenant…
        </MenuItem>
      </Menu>
      {asked === "disable" && <DisableDialog tenant={tenant} keys={keys} onClose={() => setAsked(null)} />}
      {asked === "delete" && <DeleteDialog tenant={tenant} keys={keys} onClose={() => setAsked(null)} />}
    </>
  );
}

interface ActProps {
  tenant: Tenant;
  keys: readonly Key[] | undefined;
  onClose: () => void;
}

/** `3 keys` and `12 open jobs`, as the server counts them now. */
function useTouched(tenant: Tenant, keys: readonly Key[] | undefined) {
  const summary = useQuery({ ...read(tenant.id, "/v1/jobs/summary"), enabled: tenant.enabled, staleTime: 0 });
  const counts = summary.data?.counts;
  return {
    keys: keys ? plural(activeKeys(keys).length, "key") : missing,
    jobs: counts ? plural(counts.queued + counts.running, "open job") : null,
    waiting: keys === undefined || (tenant.enabled && summary.isPending),
  };
}

function DisableDialog({ tenant, keys, onClose }: ActProps) {
  const touched = useTouched(tenant, keys);
  const change = useTenantChange(tenant.id);
  const enable = () => change.mutate({ body: { enabled: true } }, { onSuccess: () => toast(`Tenant ${tenant.id} enabled`) });
  const disable = () =>
    change.mutate(
      { etag: tenant.etag, body: { enabled: false } },
      {
        onSuccess: () => {
          toast(`Tenant ${tenant.id} disabled`, { undo: enable });
          onClose();
        },
      },
    );
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Disable tenant ${tenant.id}?`}
      effect={
        <>
          All calls with its {touched.keys} are refused, in every process within a second. Accepted work still runs
          {touched.jobs && `: ${touched.jobs}`}.
        </>
      }
      undo="You can enable the tenant again at any time. Its keys then work again."
      action="Disable tenant"
      danger
      waiting={touched.waiting}
      busy={change.isPending}
      error={change.error}
      onConfirm={disable}
      call={{ method: "PATCH", path: `/admin/v1/tenants/${encodeURIComponent(tenant.id)}`, body: { enabled: false } }}
    />
  );
}

function DeleteDialog({ tenant, keys, onClose }: ActProps) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const touched = useTouched(tenant, keys);
  const remove = useMutation({
    mutationFn: () =>
      dataOf(
        api(null).DELETE("/admin/v1/tenants/{tenant}", { params: { path: { tenant: tenant.id }, header: { "If-Match": tenant.etag } } }),
      ),
    onSuccess: () => {
      tenantsChanged(queries);
      toast(`Tenant ${tenant.id} deleted`);
      onClose();
      void navigate({ to: "/all/tenants" });
    },
  });
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Delete tenant ${tenant.id}?`}
      effect={
        <ul className="flex list-disc flex-col gap-1 pl-4">
          <li>{touched.keys} will be revoked for good, in every process within a second.</li>
          <li>New calls are refused. Accepted work still runs{touched.jobs && `: ${touched.jobs}`}.</li>
          <li>Jobs, results and files are kept until their retention time ends. Usage and the audit are kept.</li>
          <li>The tenant stays in the list as disabled, and its name stays taken.</li>
        </ul>
      }
      undo="This cannot be undone. To stop the tenant for a while, disable it instead."
      typed={tenant.id}
      action="Delete tenant"
      danger
      waiting={touched.waiting}
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      call={{ method: "DELETE", path: `/admin/v1/tenants/${encodeURIComponent(tenant.id)}` }}
    />
  );
}
