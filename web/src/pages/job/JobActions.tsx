import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Ban, Download, Ellipsis, Link2, RotateCcw, Share2, Trash2 } from "lucide-react";
import { useState } from "react";
import { api, asApiError, dataOf, serverURL } from "@/api";
import { Button, IconButton } from "@/components/Button";
import { CurlItem, copyText } from "@/components/Copy";
import { Menu, MenuItem, MenuSeparator } from "@/components/Menu";
import { toast } from "@/components/Toast";
import { useRole } from "@/session";
import { CancelDialog, DeleteDialog } from "./JobDialogs";
import { hasEnded, type Job, unsuccessful } from "./job";
import { RetryDialog } from "./RetryDialog";

const linkTries = 20;

/** A link to all results. The server writes them first where that is not done: it answers 409 until then. */
async function resultsLink(tenant: string, id: string): Promise<string> {
  for (let i = 0; ; i++) {
    try {
      return (await dataOf(api(tenant).POST("/v1/jobs/{id}/results/url", { params: { path: { id } }, body: {} }))).url;
    } catch (error) {
      if (asApiError(error).status !== 409 || i >= linkTries) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

/** Cancel, retry, delete, download and copy. Buttons that the role may not press are left out. */
export function JobActions({ tenant, job }: { tenant: string; job: Job }) {
  const navigate = useNavigate();
  const [asks, setAsks] = useState<"cancel" | "retry" | "delete" | null>(null);
  const mayStop = useRole(tenant, "developer", "operator");
  const mayDelete = useRole(tenant, "developer");
  const mayReveal = useRole(tenant, "developer", "reviewer");
  const ended = hasEnded(job);
  const results = useMutation({
    mutationFn: async (use: "download" | "copy") => ({ use, url: await resultsLink(tenant, job.id) }),
    onSuccess: ({ use, url }) => {
      if (use === "copy") void copyText(url, "Copied. Everybody with the link can download the results for an hour.");
      else window.location.assign(url);
    },
    onError: (error) => toast("The results are not ready", { description: asApiError(error).message }),
  });
  const dialog = { tenant, jobs: [job], onOpenChange: (open: boolean) => !open && setAsks(null) };
  return (
    <>
      {mayStop && !ended && (
        <Button look="danger" icon={Ban} disabled={job.cancel_requested_at !== null} onClick={() => setAsks("cancel")}>
          {job.cancel_requested_at ? "Cancelling" : "Cancel job…"}
        </Button>
      )}
      {mayStop && ended && unsuccessful(job) > 0 && (
        <Button icon={RotateCcw} onClick={() => setAsks("retry")}>
          Retry job…
        </Button>
      )}
      {mayReveal && (
        <Button icon={Download} busy={results.isPending} disabled={!ended} onClick={() => results.mutate("download")}>
          Download results
        </Button>
      )}
      <Menu trigger={<IconButton icon={Ellipsis} label="More" look="plain" />}>
        <MenuItem
          icon={Link2}
          onSelect={() => void copyText(`${serverURL()}/t/${encodeURIComponent(tenant)}/jobs/${job.id}`, "Link copied")}
        >
          Copy link to this page
        </MenuItem>
        {mayReveal && (
          <MenuItem icon={Share2} disabled={!ended} onSelect={() => results.mutate("copy")}>
            Copy link to the results
          </MenuItem>
        )}
        <CurlItem call={{ path: `/v1/jobs/${job.id}` }} />
        {mayDelete && (
          <>
            <MenuSeparator />
            <MenuItem icon={Trash2} danger disabled={!ended} onSelect={() => setAsks("delete")}>
              Delete job…
            </MenuItem>
          </>
        )}
      </Menu>
      <CancelDialog {...dialog} open={asks === "cancel"} />
      <RetryDialog
        {...dialog}
        open={asks === "retry"}
        onDone={([made]) => made && void navigate({ to: "/t/$tenant/jobs/$job", params: { tenant, job: made.id } })}
      />
      <DeleteDialog {...dialog} open={asks === "delete"} onDone={() => void navigate({ to: "/t/$tenant/jobs", params: { tenant } })} />
    </>
  );
}
