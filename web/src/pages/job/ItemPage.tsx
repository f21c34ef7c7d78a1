import { useQuery } from "@tanstack/react-query";
import { Navigate, useParams } from "@tanstack/react-router";
import { read } from "@/api";
import { ErrorPanel } from "@/components/States";
import { useOneTenant } from "@/routes";

/** Opens the job of an item, with the item beside. */
export function ItemPage() {
  const tenant = useOneTenant();
  const { item: id } = useParams({ from: "/frame/t/$tenant/items/$item" });
  const item = useQuery(read(tenant, "/v1/items/{id}", { params: { path: { id } } }));
  if (item.error) return <ErrorPanel error={item.error} onRetry={() => void item.refetch()} />;
  if (!item.data) return null;
  return <Navigate to="/t/$tenant/jobs/$job" params={{ tenant, job: item.data.job_id }} search={{ item: id }} replace />;
}
