import { useMemo, useState } from "react";
import { curlOf } from "@/api";
import { Checkbox } from "@/components/Checkbox";
import { later } from "@/components/later";
import { EmptyState, ErrorPanel } from "@/components/States";
import { DataTable } from "@/components/table/DataTable";
import { plural } from "@/format";
import { activeKeys, type Key, type Tenant, useKeys } from "@/pages/tenants/data";
import { keyColumns } from "./columns";
import { SecretDialog } from "./SecretDialog";

const AllowanceDialog = later(() => import("./AllowanceDialog").then((m) => m.AllowanceDialog));
const CreateKeyDialog = later(() => import("./CreateKeyDialog").then((m) => m.CreateKeyDialog));
const RevokeKeyDialog = later(() => import("./RevokeKeyDialog").then((m) => m.RevokeKeyDialog));
const RotateKeyDialog = later(() => import("./RotateKeyDialog").then((m) => m.RotateKeyDialog));

export type KeyAct = { kind: "allowance" | "rotate" | "revoke"; key: Key };

interface KeysTabProps {
  tenant: Tenant;
  shown: boolean; // the dialogs work on the other tabs, too
  /** Revoked and expired keys show as well. */
  all: boolean;
  onAll: (all: boolean) => void;
  creating: boolean;
  onCreating: (on: boolean) => void;
}

export function KeysTab({ tenant, shown, all, onAll, creating, onCreating }: KeysTabProps) {
  const [act, setAct] = useState<KeyAct | null>(null);
  const [made, setMade] = useState<Key | null>(null); // with its secret; forgotten when its dialog closes
  const close = () => setAct(null);
  const finish = (key: Key) => {
    setMade(key);
    setAct(null);
    onCreating(false);
  };
  return (
    <>
      {shown && <KeyList tenant={tenant} all={all} onAll={onAll} onAct={setAct} />}
      {creating && <CreateKeyDialog tenant={tenant.id} onClose={() => onCreating(false)} onCreated={finish} />}
      {act?.kind === "allowance" && <AllowanceDialog apiKey={act.key} onClose={close} />}
      {act?.kind === "rotate" && <RotateKeyDialog apiKey={act.key} onClose={close} onRotated={finish} />}
      {act?.kind === "revoke" && <RevokeKeyDialog apiKey={act.key} onClose={close} />}
      {made && <SecretDialog apiKey={made} onClose={() => setMade(null)} />}
    </>
  );
}

interface KeyListProps {
  tenant: Tenant;
  all: boolean;
  onAll: (all: boolean) => void;
  onAct: (act: KeyAct) => void;
}

function KeyList({ tenant, all, onAll, onAct }: KeyListProps) {
  const keys = useKeys(tenant.id);
  const columns = useMemo(() => keyColumns(onAct), [onAct]);
  const known = keys.data?.data ?? [];
  const active = activeKeys(known);
  const rows = all ? known : active;
  const hidden = known.length - active.length;
  if (keys.error) return <ErrorPanel error={keys.error} onRetry={() => void keys.refetch()} />;
  return (
    <>
      {hidden > 0 && (
        <div className="flex items-center gap-3 px-4 py-2.5 md:px-6">
          <Checkbox label={`Show ${plural(hidden, "revoked or expired key")}`} showLabel checked={all} onChange={onAll} />
        </div>
      )}
      <DataTable
        label="Keys"
        columns={columns}
        rows={rows}
        idOf={(k) => `${k.id}${k.source}${k.name}`}
        loading={keys.isPending}
        refetching={keys.isRefetching}
        {...(keys.data?.has_more ? { total: -1 } : {})}
        empty={<NoKeys tenant={tenant.id} />}
      />
    </>
  );
}

function NoKeys({ tenant }: { tenant: string }) {
  const command = curlOf({ method: "POST", path: "/admin/v1/keys", body: { tenant, name: "app" } });
  return (
    <EmptyState title="No keys" command={command}>
      Applications of this tenant call Penstock with a key. Create the first one here, or on the admin listener with the admin key:
    </EmptyState>
  );
}
