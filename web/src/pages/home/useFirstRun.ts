import { useQuery } from "@tanstack/react-query";
import { read } from "@/api";

/** Whether a tenant has neither a job nor a synchronous call yet. False while that is unknown, and without a tenant. */
export function useFirstRun(tenant: string | null): boolean {
  const init = { params: { query: { limit: 1 } } };
  const jobs = useQuery({ ...read(tenant, "/v1/jobs", init), enabled: tenant !== null });
  const requests = useQuery({ ...read(tenant, "/v1/requests", init), enabled: tenant !== null });
  return jobs.data?.data.length === 0 && requests.data?.data.length === 0 && !requests.data.has_more;
}
