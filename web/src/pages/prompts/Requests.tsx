import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, dataOf, read } from "@/api";
import { Button } from "@/components/Button";
import { Dialog } from "@/components/Dialog";
import { Field, Input } from "@/components/Field";
import { PaneSection } from "@/components/KeyValue";
import { ErrorPanel } from "@/components/States";
import { TimeAgo } from "@/components/Time";
import { toast } from "@/components/Toast";
import { useOneTenant } from "@/routes";
import { useMe } from "@/session";
import { isMe, useHas, useReread } from "./acts";
import { Difference } from "./Difference";
import { LabelChip } from "./Names";
import { movers, type Prompt, personWord, protectionOf, type Request } from "./prompt";

/** The open requests to move protected labels. Nothing shows where there are none. */
export function Requests({ prompt }: { prompt: Prompt }) {
  const tenant = useOneTenant();
  const path = "/v1/prompts/{name}/requests";
  const open = useQuery(read(tenant, path, { params: { path: { name: prompt.name }, query: { state: "open", limit: 50 } } }));
  const [shown, setShown] = useState<Request | null>(null);
  if (open.error) return <ErrorPanel error={open.error} onRetry={() => void open.refetch()} />;
  if (!open.data || open.data.data.length === 0) return null;
  return (
    <PaneSection title="Requests" aside={String(open.data.data.length)}>
      <ul>
        {open.data.data.map((r) => (
          <li key={r.id} className="border-t border-line py-2 first:border-t-0">
            <div className="flex items-center gap-2">
              <LabelChip label={r.label} protect />
              <span className="num">
                {r.from === null ? "new" : `v${r.from}`} to <span className="font-medium">v{r.version}</span>
              </span>
              <span className="ml-auto text-12 text-ink-3">
                <TimeAgo iso={r.created_at} />
              </span>
            </div>
            <div className="mt-0.5 text-12 break-words text-ink-2">
              {personWord(r.requested_by)}
              {r.reason && `: ${r.reason}`}
            </div>
            <Button small className="mt-1.5" onClick={() => setShown(r)}>
              Review request…
            </Button>
          </li>
        ))}
      </ul>
      {shown && <RequestDialog prompt={prompt} request={shown} onClose={() => setShown(null)} />}
    </PaneSection>
  );
}

/** A request with the difference that it makes. Its author withdraws it; somebody else with a role decides. */
function RequestDialog({ prompt, request, onClose }: { prompt: Prompt; request: Request; onClose: () => void }) {
  const tenant = useOneTenant();
  const me = useMe();
  const has = useHas(tenant);
  const reread = useReread(tenant);
  const [note, setNote] = useState("");
  const protections = useQuery(read(tenant, "/v1/prompt_protections")).data?.data ?? [];
  const version = useQuery(
    read(tenant, "/v1/prompts/{name}/versions/{version}", { params: { path: { name: prompt.name, version: String(request.version) } } }),
  );
  const mine = isMe(me, request.requested_by);
  const rule = protectionOf(protections, request.label, prompt.name);
  const mayDecide = has(movers) && (!rule || has(rule.roles));
  const wrote = version.data !== undefined && isMe(me, version.data.author);
  const decide = useMutation({
    mutationFn: (what: "approve" | "reject") => {
      const init = { params: { path: { name: prompt.name, id: request.id } }, body: note ? { note } : {} };
      return dataOf(
        what === "approve"
          ? api(tenant).POST("/v1/prompts/{name}/requests/{id}/approve", init)
          : api(tenant).POST("/v1/prompts/{name}/requests/{id}/reject", init),
      );
    },
    onSuccess: (done) => {
      toast(done.state === "approved" ? `${done.label} names v${done.version}` : mine ? "Request withdrawn" : "Request rejected");
      onClose();
    },
    onSettled: reread,
  });
  const acting = decide.isPending ? decide.variables : null;
  return (
    <Dialog
      open
      wide
      onOpenChange={(next) => !next && onClose()}
      title={`Move ${request.label} to v${request.version}`}
      description={`${personWord(request.requested_by)} asks for it${request.reason ? `: ${request.reason}` : "."}`}
      footer={
        <>
          <Button onClick={onClose}>Close</Button>
          {(mine || mayDecide) && (
            <Button look="danger" busy={acting === "reject"} disabled={decide.isPending} onClick={() => decide.mutate("reject")}>
              {mine ? "Withdraw request" : "Reject request"}
            </Button>
          )}
          {mayDecide && !mine && !wrote && (
            <Button look="accent" busy={acting === "approve"} disabled={decide.isPending} onClick={() => decide.mutate("approve")}>
              Approve request
            </Button>
          )}
        </>
      }
    >
      <div className="flex flex-col gap-3 pb-2">
        {request.from === null ? (
          <p>{request.label} is a new label.</p>
        ) : (
          <Difference name={prompt.name} from={String(request.from)} to={String(request.version)} />
        )}
        {mayDecide && (mine || wrote) && (
          <p className="text-ink-2">{mine ? "You asked for this move" : `You wrote v${request.version}`}, so somebody else approves it.</p>
        )}
        {!mayDecide && !mine && <p className="text-ink-2">Somebody with the role {rule?.roles.join(" or ") ?? "operator"} decides.</p>}
        {mayDecide && !mine && (
          <Field label="Note" hint="For the author of the request">
            <Input value={note} maxLength={500} onChange={(e) => setNote(e.target.value)} />
          </Field>
        )}
        {decide.error && <ErrorPanel error={decide.error} />}
      </div>
    </Dialog>
  );
}
