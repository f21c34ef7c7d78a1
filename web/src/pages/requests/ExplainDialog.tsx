import { useQuery } from "@tanstack/react-query";
import { api, dataOf, readKey } from "@/api";
import { CurlButton } from "@/components/Copy";
import { Dialog } from "@/components/Dialog";
import { Skeleton } from "@/components/Skeleton";
import { ErrorPanel } from "@/components/States";
import { ExplainResult } from "@/pages/models/ExplainResult";
import { useOneTenant } from "@/routes";

interface ExplainDialogProps {
  model: string;
  endpoint: string;
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

const path = "/v1/models/{model}/explain";

/** How the model would route the same kind of call now. No call is made. */
export function ExplainDialog({ model, endpoint, open, onOpenChange }: ExplainDialogProps) {
  const tenant = useOneTenant();
  const explain = useQuery({
    queryKey: readKey(tenant, path, { model, endpoint }),
    queryFn: ({ signal }) => dataOf(api(tenant).POST(path, { params: { path: { model }, query: { endpoint } }, signal })),
    enabled: open,
    staleTime: 0,
  });
  const call = { method: "POST", path: `/v1/models/${encodeURIComponent(model)}/explain`, query: { endpoint } } as const;
  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      wide
      title={`Route of ${model} now`}
      description="The decision as of now, without making a call. Health, capacity and prices may have changed since the request."
      footer={<CurlButton call={call} withText />}
    >
      {explain.error ? (
        <ErrorPanel error={explain.error} onRetry={() => void explain.refetch()} />
      ) : explain.data ? (
        <div className="mb-2 overflow-hidden rounded-card border border-line">
          <ExplainResult explain={explain.data} />
        </div>
      ) : (
        <Skeleton className="my-4 w-1/2" />
      )}
    </Dialog>
  );
}
