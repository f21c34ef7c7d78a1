import { queryOptions, useQuery } from "@tanstack/react-query";
import { api } from "@/api";
import { CodeView } from "@/components/CodeView";
import { Skeleton } from "@/components/Skeleton";
import { ErrorPanel } from "@/components/States";
import { indentJson } from "@/format";
import { useOneTenant } from "@/routes";

/** The input of an item as text, so that its numbers stay as they are. The server writes the look to the audit; it is not read again by itself. */
export function inputQuery(tenant: string, id: string) {
  return queryOptions({
    queryKey: [tenant, "item-input", id],
    queryFn: async ({ signal }): Promise<string> => {
      const { data } = await api(tenant).GET("/v1/items/{id}/input", { params: { path: { id } }, parseAs: "text", signal });
      return indentJson(String(data ?? ""));
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
}

export function ItemInput({ id }: { id: string }) {
  const input = useQuery(inputQuery(useOneTenant(), id));
  if (input.error) return <ErrorPanel error={input.error} onRetry={() => void input.refetch()} />;
  if (input.data === undefined) return <Skeleton className="h-24" />;
  return <CodeView label="Input" text={input.data} language="json" maxHeight={320} />;
}
