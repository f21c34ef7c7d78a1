import { Link } from "@tanstack/react-router";
import { Pencil } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { KeyValue } from "@/components/KeyValue";
import { later } from "@/components/later";
import { ErrorPanel } from "@/components/States";
import { Time } from "@/components/Time";
import { BudgetUsed } from "./columns";
import { type Tenant, useBalances } from "./data";
import { Lanes, limitWords, retentionWord } from "./words";

const TenantSettingsDialog = later(() => import("./TenantSettingsDialog").then((m) => m.TenantSettingsDialog));

const anyOf = (list: readonly string[], all: string) => (list.length > 0 ? list.join(", ") : all);

export function OverviewTab({ tenant }: { tenant: Tenant }) {
  const [editing, setEditing] = useState(false);
  const edit = tenant.source === "api" && (
    <Button small icon={Pencil} onClick={() => setEditing(true)}>
      Edit settings…
    </Button>
  );
  return (
    <div className="grid items-start gap-4 lg:grid-cols-2">
      <Card title="Settings" aside={edit}>
        <div className="px-3.5 py-2">
          <KeyValue
            facts={[
              { name: "Tier", value: tenant.tier || null },
              { name: "Weight", value: tenant.weight },
              { name: "Lanes", value: <Lanes lanes={tenant.lanes} /> },
              { name: "Models", value: anyOf(tenant.models, "All") },
              { name: "Regions", value: anyOf(tenant.regions, "Anywhere") },
              { name: "Media hosts", value: anyOf(tenant.media_hosts, "Global default") },
              { name: "Created", value: <Time iso={tenant.created_at} /> },
              { name: "Changed", value: <Time iso={tenant.updated_at} /> },
              { name: "ETag", value: <span className="font-mono text-12">{tenant.etag}</span>, copy: tenant.etag },
            ]}
          />
        </div>
      </Card>
      <div className="flex flex-col gap-4">
        <Card title="Retention" note="Default: the retention of the configuration">
          <div className="px-3.5 py-2">
            <KeyValue
              facts={[
                { name: "Results", value: retentionWord(tenant.retention.results) },
                { name: "Events", value: retentionWord(tenant.retention.events) },
                { name: "Files", value: retentionWord(tenant.retention.files) },
                { name: "Idempotency", value: retentionWord(tenant.retention.idempotency) },
              ]}
            />
          </div>
        </Card>
        <UseCard tenant={tenant} />
      </div>
      {editing && <TenantSettingsDialog tenant={tenant} onClose={() => setEditing(false)} />}
    </div>
  );
}

function UseCard({ tenant }: { tenant: Tenant }) {
  const balances = useBalances(tenant);
  const own = balances.data?.data.filter((b) => b.key === null && b.model === null && b.tag === null) ?? [];
  return (
    <Card
      title="Limits and budget"
      aside={
        <Link to="/t/$tenant/jobs" params={{ tenant: tenant.id }} className="text-12 font-medium text-accent hover:underline">
          Jobs of the tenant
        </Link>
      }
    >
      {balances.error ? (
        <ErrorPanel error={balances.error} onRetry={() => void balances.refetch()} />
      ) : (
        <div className="px-3.5 py-2">
          <KeyValue
            facts={[
              { name: "Limits", value: limitWords(tenant.limits) },
              ...own.map((b) => ({
                name: `${b.period.slice(0, 1).toUpperCase()}${b.period.slice(1)} budget`,
                value: <BudgetUsed balance={b} />,
              })),
            ]}
          />
        </div>
      )}
    </Card>
  );
}
