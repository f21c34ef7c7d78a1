import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Ellipsis, KeyRound, Pause, Pencil, Play, Send, Trash2 } from "lucide-react";
import { useMemo, useState } from "react";
import { api, asApiError, dataOf, readKey } from "@/api";
import { Button, IconButton } from "@/components/Button";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { CurlItem } from "@/components/Copy";
import { Menu, MenuItem, MenuSeparator } from "@/components/Menu";
import { toast } from "@/components/Toast";
import { useActions } from "@/frame/useActions";
import { useOneTenant } from "@/routes";
import { useRole } from "@/session";
import { EndpointForm } from "./EndpointForm";
import { type NewSecret, SecretDialog } from "./SecretDialog";
import type { Webhook } from "./state";

type Asking = "edit" | "rotate" | "delete" | null;

/** The acts on one endpoint. Changes name the version that the person saw, so that nobody overwrites another's change. */
export function EndpointActs({ hook, onSent }: { hook: Webhook; onSent: (delivery: string) => void }) {
  const tenant = useOneTenant();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const mayChange = useRole(tenant, "developer");
  const [asking, setAsking] = useState<Asking>(null);
  const [made, setMade] = useState<NewSecret | null>(null);
  const reread = () => {
    for (const path of ["/v1/webhooks", "/v1/webhooks/{id}", "/v1/webhooks/{id}/deliveries"]) {
      void queries.invalidateQueries({ queryKey: readKey(tenant, path) });
    }
  };
  const of = { path: { id: hook.id }, header: { "If-Match": hook.etag } };
  const test = useMutation({
    mutationFn: () => dataOf(api(tenant).POST("/v1/webhooks/{id}/test", { params: { path: { id: hook.id } } })),
    onSuccess: (delivery) => {
      toast("Test sent");
      reread();
      onSent(delivery.id);
    },
    onError: (error) => toast("The test was not sent", { description: asApiError(error).message }),
  });
  const enable = useMutation({
    mutationFn: (enabled: boolean) => dataOf(api(tenant).PATCH("/v1/webhooks/{id}", { params: of, body: { enabled } })),
    onSuccess: (_, enabled) => toast(enabled ? "Endpoint enabled" : "Endpoint disabled"),
    onError: (error) => toast("Nothing was changed", { description: reason(error) }),
    onSettled: reread,
  });
  const rotate = useMutation({
    mutationFn: () => dataOf(api(tenant).POST("/v1/webhooks/{id}/rotate", { params: of })),
    onSuccess: (changed) => {
      setAsking(null);
      setMade({ secret: changed.secret ?? "", oldUntil: changed.old_secret_until });
    },
    onSettled: reread,
  });
  const remove = useMutation({
    mutationFn: () => dataOf(api(tenant).DELETE("/v1/webhooks/{id}", { params: of })),
    onSuccess: () => {
      toast("Endpoint deleted");
      void queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/webhooks") });
      void navigate({ to: "/t/$tenant/webhooks", params: { tenant }, search: {} });
    },
    onError: reread,
  });
  const { mutate: send } = test;
  useActions(
    useMemo(
      () =>
        mayChange
          ? [
              { id: "test", title: "Send a test", note: "Action", icon: Send, run: () => send() },
              { id: "edit", title: "Edit the endpoint…", note: "Action", icon: Pencil, run: () => setAsking("edit") },
              { id: "rotate", title: "Rotate the secret…", note: "Action", icon: KeyRound, run: () => setAsking("rotate") },
            ]
          : [],
      [mayChange, send],
    ),
  );
  if (!mayChange) return null;
  return (
    <>
      <Button icon={Pencil} onClick={() => setAsking("edit")}>
        Edit…
      </Button>
      <Menu trigger={<IconButton icon={Ellipsis} label="More actions" look="plain" />}>
        <MenuItem icon={KeyRound} onSelect={() => setAsking("rotate")}>
          Rotate the secret…
        </MenuItem>
        <MenuItem icon={hook.enabled ? Pause : Play} onSelect={() => enable.mutate(!hook.enabled)}>
          {hook.enabled ? "Disable" : "Enable"}
        </MenuItem>
        <CurlItem call={{ path: `/v1/webhooks/${hook.id}` }} />
        <MenuSeparator />
        <MenuItem icon={Trash2} danger onSelect={() => setAsking("delete")}>
          Delete…
        </MenuItem>
      </Menu>
      <Button look="accent" icon={Send} busy={test.isPending} disabled={!hook.enabled} onClick={() => test.mutate()}>
        Send test
      </Button>
      {asking === "edit" && <EndpointForm hook={hook} onClose={() => setAsking(null)} />}
      <ConfirmDialog
        open={asking === "rotate"}
        onOpenChange={(open) => !open && setAsking(null)}
        title="Rotate the secret"
        effect="A new secret signs from now on. For 24 hours each message carries a second signature, of the old secret: change the receiver within that time, and no message is refused."
        undo="The old secret cannot be brought back. The new one is shown once."
        action="Rotate the secret"
        busy={rotate.isPending}
        error={rotate.error && reasonError(rotate.error)}
        onConfirm={() => rotate.mutate()}
        call={{ method: "POST", path: `/v1/webhooks/${hook.id}/rotate` }}
      />
      <ConfirmDialog
        open={asking === "delete"}
        onOpenChange={(open) => !open && setAsking(null)}
        title="Delete the endpoint"
        effect={
          <>
            <span className="font-mono text-12 break-all">{hook.url}</span> gets no more messages, and pending ones are not sent.
          </>
        }
        undo="This cannot be undone. To stop messages for a while, disable the endpoint instead."
        typed="delete"
        action="Delete endpoint"
        danger
        busy={remove.isPending}
        error={remove.error && reasonError(remove.error)}
        onConfirm={() => remove.mutate()}
        call={{ method: "DELETE", path: `/v1/webhooks/${hook.id}` }}
      />
      {made && <SecretDialog made={made} onClose={() => setMade(null)} />}
    </>
  );
}

const changed = "The endpoint was changed meanwhile. Nothing was done. Its present state is on the page now; try again.";

function reason(error: unknown): string {
  const e = asApiError(error);
  return e.status === 412 ? changed : e.message;
}

function reasonError(error: unknown): unknown {
  return asApiError(error).status === 412 ? new Error(changed) : error;
}
