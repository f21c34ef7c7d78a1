import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { KeyRound } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/Button";
import { CurlButton } from "@/components/Copy";
import { later } from "@/components/later";
import { Skeleton, useSlow } from "@/components/Skeleton";
import { ErrorPanel } from "@/components/States";
import { Tabs } from "@/components/Tabs";
import { TimeAgo } from "@/components/Time";
import { formatCount } from "@/format";
import { PageBody } from "@/frame/Page";
import { PageHead } from "@/frame/PageHead";
import { useLive } from "@/live";
import { KeysTab } from "@/pages/keys/KeysTab";
import { useOneTenant } from "@/routes";
import { activeKeys, type Tenant, useKeys, useOneTenantRecord } from "./data";
import { OverviewTab } from "./OverviewTab";
import type { TenantTab } from "./route";
import { TenantMenu } from "./TenantMenu";
import { TenantState } from "./words";

const BudgetsTab = later(() => import("./BudgetsTab").then((m) => m.BudgetsTab));
const LimitsTab = later(() => import("./LimitsTab").then((m) => m.LimitsTab));
const MembersTable = later(() => import("@/pages/members/MembersTable").then((m) => m.MembersTable));

const topics = { "audit.appended": ["/admin/v1/tenants/{tenant}", "/admin/v1/keys", "/admin/v1/members"], load: ["/admin/v1/budgets"] };

/** `/all/tenants/{id}`. */
export function TenantPage() {
  const { tab, keys } = useSearch({ from: "/frame/all/tenants/$id" });
  const { id } = useParams({ from: "/frame/all/tenants/$id" });
  const navigate = useNavigate({ from: "/all/tenants/$id" });
  return (
    <TenantView
      id={id}
      tab={tab ?? "overview"}
      allKeys={keys === "all"}
      onTab={(next) => void navigate({ search: next === "overview" ? {} : { tab: next }, replace: true })}
      onAllKeys={(on) => void navigate({ search: { tab: "keys", ...(on ? { keys: "all" as const } : {}) }, replace: true })}
    />
  );
}

/** `/t/{tenant}/keys`: the same page in the frame of the tenant. */
export function TenantKeysPage() {
  const { tab, keys } = useSearch({ from: "/frame/t/$tenant/keys" });
  const id = useOneTenant();
  const navigate = useNavigate({ from: "/t/$tenant/keys" });
  return (
    <TenantView
      id={id}
      tab={tab ?? "keys"}
      allKeys={keys === "all"}
      onTab={(next) => void navigate({ search: next === "keys" ? {} : { tab: next }, replace: true })}
      onAllKeys={(on) => void navigate({ search: on ? { keys: "all" as const } : {}, replace: true })}
    />
  );
}

interface ViewProps {
  id: string;
  tab: TenantTab;
  allKeys: boolean;
  onTab: (tab: TenantTab) => void;
  onAllKeys: (on: boolean) => void;
}

function TenantView({ id, tab, allKeys, onTab, onAllKeys }: ViewProps) {
  const tenant = useOneTenantRecord(id);
  const keys = useKeys(id);
  const [creating, setCreating] = useState(false);
  const slow = useSlow(tenant.isPending);
  useLive(null, topics);
  const count = keys.data ? formatCount(activeKeys(keys.data.data).length) : undefined;
  const tabs: { value: TenantTab; label: string; count?: string }[] = [
    { value: "overview", label: "Overview" },
    { value: "keys", label: "Keys", ...(count ? { count } : {}) },
    { value: "limits", label: "Limits" },
    { value: "budgets", label: "Budgets" },
    { value: "members", label: "Members" },
  ];
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <PageHead
        title={id}
        live
        state={tenant.data && <TenantState tenant={tenant.data} />}
        detail={tenant.data && <Facts tenant={tenant.data} />}
      >
        <CurlButton call={{ path: `/admin/v1/tenants/${encodeURIComponent(id)}` }} />
        {tenant.data && <TenantMenu tenant={tenant.data} keys={keys.data?.data} />}
        <Button look="accent" icon={KeyRound} disabled={!tenant.data?.enabled} onClick={() => setCreating(true)}>
          Create key…
        </Button>
      </PageHead>
      {tenant.error ? (
        <ErrorPanel error={tenant.error} onRetry={() => void tenant.refetch()} />
      ) : (
        <>
          <Tabs label="Parts of the tenant" className="px-4 md:px-6" value={tab} tabs={tabs} onChange={onTab} />
          {tenant.data ? (
            <Content tenant={tenant.data} tab={tab} allKeys={allKeys} onAllKeys={onAllKeys} creating={creating} onCreating={setCreating} />
          ) : (
            slow && <Loading />
          )}
        </>
      )}
    </div>
  );
}

/** The facts under the name. A tenant of the configuration file says so, and how to change it. */
function Facts({ tenant }: { tenant: Tenant }) {
  return (
    <>
      {tenant.tier && <span>Tier {tenant.tier}</span>}
      {tenant.tier && <span aria-hidden>·</span>}
      {tenant.source === "file" ? (
        <span>Owned by the configuration file: change it there and reload. Keys can be created here.</span>
      ) : (
        <span>Created by the API</span>
      )}
      <span aria-hidden>·</span>
      <span>
        changed <TimeAgo iso={tenant.updated_at} suffix=" ago" />
      </span>
    </>
  );
}

interface ContentProps {
  tenant: Tenant;
  tab: TenantTab;
  allKeys: boolean;
  onAllKeys: (on: boolean) => void;
  creating: boolean;
  onCreating: (on: boolean) => void;
}

function Content({ tenant, tab, allKeys, onAllKeys, creating, onCreating }: ContentProps) {
  return (
    <>
      {tab === "members" && <MembersTable tenant={tenant.id} inherited />}
      {tab !== "members" && tab !== "keys" && (
        <section aria-label={tab} tabIndex={0} className="min-h-0 flex-1 overflow-y-auto pt-4 -outline-offset-2">
          <PageBody>
            {tab === "overview" && <OverviewTab tenant={tenant} />}
            {tab === "limits" && <LimitsTab tenant={tenant} />}
            {tab === "budgets" && <BudgetsTab tenant={tenant} />}
          </PageBody>
        </section>
      )}
      <KeysTab tenant={tenant} shown={tab === "keys"} all={allKeys} onAll={onAllKeys} creating={creating} onCreating={onCreating} />
    </>
  );
}

function Loading() {
  return (
    <div aria-hidden className="flex flex-col gap-3 p-6">
      {["w-1/3", "w-2/3", "w-1/2", "w-3/5"].map((width) => (
        <Skeleton key={width} className={width} />
      ))}
    </div>
  );
}
