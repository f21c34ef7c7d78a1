import { useMutation } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { asApiError, download } from "@/api";
import { Button } from "@/components/Button";
import { toast } from "@/components/Toast";
import { Tip } from "@/components/Tooltip";
import { useTenant } from "@/routes";
import { type UsageQuery, usagePath } from "./query";

/** The CSV of the server: every group, not only the ones on the page. Disabled with a reason while the report is not whole. */
export function ExportButton({ query, partial }: { query: UsageQuery; partial: string | null }) {
  const tenant = useTenant();
  const save = useMutation({
    mutationFn: () =>
      download(tenant, usagePath(tenant), { ...query, format: "csv" }, `usage-${tenant ?? "all"}-${query.from}-${query.to}.csv`),
    onError: (error) => toast("The export failed", { description: asApiError(error).message }),
  });
  return (
    <Tip text={partial ?? "Every group of the report, with the total in the last line"}>
      <span>
        <Button icon={Download} busy={save.isPending} disabled={partial !== null} onClick={() => save.mutate()}>
          Export CSV
        </Button>
      </span>
    </Tip>
  );
}
