import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, type CurlCall, curlOf, dataOf, readKey, type Schemas } from "@/api";
import { Button } from "@/components/Button";
import { Checkbox } from "@/components/Checkbox";
import { copyText } from "@/components/Copy";
import { Dialog } from "@/components/Dialog";
import { Field, Input } from "@/components/Field";
import { toast } from "@/components/Toast";
import { useOneTenant } from "@/routes";
import { ChangeError } from "./Conflict";
import type { NewSecret } from "./SecretDialog";
import { events, urlProblem, type Webhook } from "./state";

const meaning: Record<(typeof events)[number], string> = {
  "job.started": "The first item of a job starts.",
  "job.finished": "A job ends, with its counts and its cost.",
  "budget.soft_exceeded": "The spending exceeds a soft budget; once in each period.",
  "prompt.version.created": "A version of a prompt is saved.",
  "prompt.label.moved": "A label of a prompt names another version.",
  "prompt.label.requested": "A person asks for the move of a protected label.",
};

export interface EndpointFormProps {
  /** The endpoint to change; absent: a new one is made. */
  hook?: Webhook;
  onClose: () => void;
  onMade?: (hook: Webhook, secret: NewSecret) => void;
}

/** Makes or changes an endpoint. A change names the version that the person saw. */
export function EndpointForm({ hook, onClose, onMade }: EndpointFormProps) {
  const tenant = useOneTenant();
  const queries = useQueryClient();
  const [url, setUrl] = useState(hook?.url ?? "");
  const [description, setDescription] = useState(hook?.description ?? "");
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(hook?.events ?? ["job.finished"]));
  const body: Schemas["WebhookOrder"] = { url: url.trim(), description, events: events.filter((e) => chosen.has(e)) };
  const reread = () => {
    void queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/webhooks") });
    if (hook) void queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/webhooks/{id}") });
  };
  const save = useMutation({
    mutationFn: () =>
      hook
        ? dataOf(api(tenant).PATCH("/v1/webhooks/{id}", { params: { path: { id: hook.id }, header: { "If-Match": hook.etag } }, body }))
        : dataOf(api(tenant).POST("/v1/webhooks", { body })),
    onSuccess: (saved) => {
      reread();
      onClose();
      if (hook) toast("Endpoint changed");
      else onMade?.(saved, { secret: saved.secret ?? "", oldUntil: null });
    },
  });
  const problem = urlProblem(url);
  const ready = url.trim() !== "" && problem === null && chosen.size > 0;
  const call: CurlCall = { method: hook ? "PATCH" : "POST", path: hook ? `/v1/webhooks/${hook.id}` : "/v1/webhooks", body };
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={hook ? "Edit the endpoint" : "Add an endpoint"}
      description={hook ? undefined : "Penstock sends signed messages to it. Its secret is shown once, after this."}
      footer={
        <>
          <Button look="ghost" className="mr-auto" onClick={() => void copyText(curlOf(call), "Copied as curl")}>
            Copy as curl
          </Button>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="accent" type="submit" form="endpoint" busy={save.isPending} disabled={!ready}>
            {hook ? "Save changes" : "Add endpoint"}
          </Button>
        </>
      }
    >
      <form
        id="endpoint"
        className="flex flex-col gap-3 pb-2"
        onSubmit={(e) => {
          e.preventDefault();
          if (ready) save.mutate();
        }}
      >
        <Field label="URL" error={problem} hint="https, and a public address unless the operator allows its network.">
          <Input
            mono
            autoFocus
            value={url}
            onChange={(e) => setUrl(e.target.value)}
            placeholder="https://app.example/hook"
            spellCheck={false}
          />
        </Field>
        <Field label="Description" hint="For people who read this list.">
          <Input value={description} onChange={(e) => setDescription(e.target.value)} />
        </Field>
        <fieldset>
          <legend className="mb-1 text-12 font-medium text-ink-2">Events</legend>
          {events.map((event) => (
            <div key={event} className="flex flex-col py-0.5">
              <Checkbox
                label={event}
                showLabel
                checked={chosen.has(event)}
                onChange={(on) => setChosen((old) => new Set(on ? [...old, event] : [...old].filter((e) => e !== event)))}
              />
              <span className="pl-[22px] text-12 text-ink-3">{meaning[event]}</span>
            </div>
          ))}
          {chosen.size === 0 && <p className="text-12 text-red">Choose one event at least.</p>}
        </fieldset>
        <ChangeError
          error={save.error}
          onReload={() => {
            reread();
            onClose();
          }}
        />
      </form>
    </Dialog>
  );
}
