import { RefreshCw } from "lucide-react";
import { asApiError } from "@/api";
import { Button } from "@/components/Button";
import { ErrorPanel } from "@/components/States";

/** The error of a change. Status 412 means that the endpoint was changed meanwhile: nothing was done, and Reload shows its present state. */
export function ChangeError({ error, onReload }: { error: unknown; onReload: () => void }) {
  if (error == null) return null;
  if (asApiError(error).status !== 412) return <ErrorPanel error={error} />;
  return (
    <div role="alert" className="flex flex-wrap items-center gap-3 rounded-card border border-amber-line bg-amber-tint p-3">
      <p className="min-w-0 flex-1 text-amber">
        <span className="font-medium">The endpoint was changed meanwhile.</span> Nothing was done. Reload to see its present state, then
        change it again.
      </p>
      <Button small icon={RefreshCw} onClick={onReload}>
        Reload
      </Button>
    </div>
  );
}
