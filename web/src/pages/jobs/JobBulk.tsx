import { Ban, RotateCcw } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/Button";
import { CancelDialog } from "@/pages/job/JobDialogs";
import { hasEnded, type Job, unsuccessful } from "@/pages/job/job";
import { RetryDialog } from "@/pages/job/RetryDialog";

/** Cancels or retries the selected jobs, after a confirmation with the counts. */
export function JobBulk({ tenant, jobs, onDone }: { tenant: string; jobs: readonly Job[]; onDone: () => void }) {
  const [asks, setAsks] = useState<"cancel" | "retry" | null>(null);
  const dialog = { tenant, jobs, onOpenChange: (open: boolean) => !open && setAsks(null), onDone };
  return (
    <>
      <Button
        look="ghost"
        icon={RotateCcw}
        disabled={!jobs.some((j) => hasEnded(j) && unsuccessful(j) > 0)}
        onClick={() => setAsks("retry")}
      >
        Retry jobs…
      </Button>
      <Button look="ghost" icon={Ban} disabled={jobs.every(hasEnded)} onClick={() => setAsks("cancel")}>
        Cancel jobs…
      </Button>
      <RetryDialog {...dialog} open={asks === "retry"} />
      <CancelDialog {...dialog} open={asks === "cancel"} />
    </>
  );
}
