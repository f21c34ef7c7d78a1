import { useMutation } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { useState } from "react";
import { api, curlOf, dataOf } from "@/api";
import { Button } from "@/components/Button";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { EmptyState } from "@/components/States";
import { useOneTenant } from "@/routes";
import { useRole } from "@/session";
import { Deliveries } from "./Deliveries";
import type { WebhooksSearch } from "./route";
import { type NewSecret, SecretDialog } from "./SecretDialog";
import { StatusTabs } from "./StatusTabs";

/** The messages to the webhooks that jobs bring along, and the secret of the tenant that signs them. */
export function JobDeliveries({ search, onChange }: { search: WebhooksSearch; onChange: (change: Partial<WebhooksSearch>) => void }) {
  const command = curlOf({
    method: "POST",
    path: "/v1/jobs",
    body: { model: "fast", input: "Hello", webhook: { url: "https://app.example/hook?order=7" } },
  });
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3 md:px-6">
        <p className="min-w-60 flex-1 text-ink-2">
          A job can name a webhook of its own. The secret of the tenant signs its messages; without one such jobs are refused.
        </p>
        <TenantSecret />
      </div>
      <StatusTabs value={search.status} onChange={(status) => onChange({ status } as Partial<WebhooksSearch>)} />
      <Deliveries
        search={search}
        onChange={onChange}
        empty={
          <EmptyState title="No job has had a webhook yet" command={command}>
            Make the secret of the tenant, then name a webhook with a job:
          </EmptyState>
        }
      />
    </>
  );
}

function TenantSecret() {
  const tenant = useOneTenant();
  const mayChange = useRole(tenant, "developer");
  const [asking, setAsking] = useState(false);
  const [made, setMade] = useState<NewSecret | null>(null);
  const rotate = useMutation({
    mutationFn: () => dataOf(api(tenant).POST("/v1/webhooks/secret")),
    onSuccess: (answer) => {
      setAsking(false);
      setMade({ secret: answer.secret, oldUntil: answer.old_secret_until });
    },
  });
  if (!mayChange) return null;
  return (
    <>
      <Button icon={KeyRound} onClick={() => setAsking(true)}>
        Make or rotate the secret…
      </Button>
      <ConfirmDialog
        open={asking}
        onOpenChange={setAsking}
        title="Make or rotate the tenant's secret"
        effect="A new secret signs all messages to the webhooks of jobs from now on. If there is one already, it signs beside the new one for 24 hours, so receivers have that time to change."
        undo="The previous secret cannot be brought back after that. The new one is shown once."
        action="Make a new secret"
        busy={rotate.isPending}
        error={rotate.error}
        onConfirm={() => rotate.mutate()}
        call={{ method: "POST", path: "/v1/webhooks/secret" }}
      />
      {made && <SecretDialog made={made} onClose={() => setMade(null)} />}
    </>
  );
}
