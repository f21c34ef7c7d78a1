import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useMemo, useState } from "react";
import { curlOf, readPages } from "@/api";
import { Button } from "@/components/Button";
import { CurlButton } from "@/components/Copy";
import { FilterBar, type FilterField } from "@/components/FilterBar";
import { later } from "@/components/later";
import { EmptyState, ErrorPanel, NoMatch } from "@/components/States";
import { DataTable } from "@/components/table/DataTable";
import { PageHead } from "@/frame/PageHead";
import { useActions } from "@/frame/useActions";
import { useLive } from "@/live";
import { tenantColumns } from "./columns";

const CreateTenantDialog = later(() => import("./CreateTenantDialog").then((m) => m.CreateTenantDialog));

const topics = { "audit.appended": ["/admin/v1/tenants", "/admin/v1/keys"], load: ["/admin/v1/budgets"] };
const fields: readonly FilterField[] = [{ name: "tier", label: "Tier", example: "production" }];

export function TenantsPage() {
  const search = useSearch({ from: "/frame/all/tenants" });
  const navigate = useNavigate({ from: "/all/tenants" });
  const [creating, setCreating] = useState(false);
  const query = useMemo(() => ({ limit: 100, ...(search.tier ? { tier: search.tier } : {}) }), [search.tier]);
  const tenants = useInfiniteQuery({ ...readPages(null, "/admin/v1/tenants", query), placeholderData: keepPreviousData });
  const rows = useMemo(() => tenants.data?.pages.flatMap((p) => p.data) ?? [], [tenants.data]);
  useLive(null, topics);
  useActions(useMemo(() => [{ id: "create-tenant", title: "Create tenant…", icon: Plus, run: () => setCreating(true) }], []));
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <PageHead title="Tenants & keys" live>
        <CurlButton call={{ path: "/admin/v1/tenants", query }} />
        <Button look="accent" icon={Plus} onClick={() => setCreating(true)}>
          Create tenant…
        </Button>
      </PageHead>
      <div className="px-4 pb-3 md:px-6">
        <FilterBar
          fields={fields}
          values={search}
          onChange={(name, value) => void navigate({ search: value ? { [name]: value } : {}, replace: true })}
          onText={(id) => void navigate({ to: "/all/tenants/$id", params: { id } })}
          placeholder="Filter by tier, or type the name of a tenant and press Enter"
        />
      </div>
      {tenants.error ? (
        <ErrorPanel error={tenants.error} onRetry={() => void tenants.refetch()} />
      ) : (
        <DataTable
          label="Tenants"
          columns={tenantColumns}
          rows={rows}
          idOf={(t) => t.id}
          loading={tenants.isPending}
          refetching={tenants.isRefetching}
          hasMore={tenants.hasNextPage}
          loadingMore={tenants.isFetchingNextPage}
          onMore={() => void tenants.fetchNextPage()}
          onOpen={(t) => void navigate({ to: "/all/tenants/$id", params: { id: t.id } })}
          empty={search.tier ? <NoMatch what="tenants" onClear={() => void navigate({ search: {} })} /> : <NoTenants />}
        />
      )}
      {creating && <CreateTenantDialog onClose={() => setCreating(false)} />}
    </div>
  );
}

function NoTenants() {
  const command = curlOf({ method: "POST", path: "/admin/v1/tenants", body: { id: "search", budget: { monthly_usd: "250", hard: true } } });
  return (
    <EmptyState title="No tenants yet" command={command}>
      A tenant is a team or a product with its own keys, limits, budgets and data. Create the first one here, in the configuration file, or
      on the admin listener with the admin key:
    </EmptyState>
  );
}
