import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { readKey } from "@/api";
import { toast } from "@/components/Toast";
import { type Tenant, type TenantFields, useTenantChange } from "./data";

/** A form over a part of a tenant. It saves only if nobody changed the tenant since its values were read. */
export function useTenantForm<F>(tenant: Tenant, formOf: (tenant: Tenant) => F, onSaved: () => void) {
  const queries = useQueryClient();
  const [form, setForm] = useState(() => formOf(tenant));
  const [etag, setEtag] = useState(tenant.etag); // of the values in the form, not of the newest ones
  const change = useTenantChange(tenant.id);
  const save = (body: TenantFields) =>
    change.mutate(
      { etag, body },
      {
        onSuccess: () => {
          toast(`Tenant ${tenant.id} saved`);
          onSaved();
        },
      },
    );
  const reload = async () => {
    await queries.invalidateQueries({ queryKey: readKey(null, "/admin/v1/tenants/{tenant}") });
    const fresh = queries.getQueryData<Tenant>(readKey(null, "/admin/v1/tenants/{tenant}", { params: { path: { tenant: tenant.id } } }));
    if (!fresh) return;
    setForm(formOf(fresh));
    setEtag(fresh.etag);
    change.reset();
  };
  return { form, setForm, save, busy: change.isPending, error: change.error, onReload: () => void reload() };
}

/** The call of a change, for Copy as curl. */
export function changeCall(tenant: Tenant, body: TenantFields) {
  return { method: "PATCH" as const, path: `/admin/v1/tenants/${encodeURIComponent(tenant.id)}`, body };
}
