import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, dataOf, read, readKey, serverURL } from "@/api";
import { Button } from "@/components/Button";
import { CopyButton } from "@/components/Copy";
import { Dialog } from "@/components/Dialog";
import { Field } from "@/components/Field";
import { Select } from "@/components/Select";
import { ErrorPanel } from "@/components/States";
import { Segments } from "@/components/Tabs";
import { Time } from "@/components/Time";
import { toast } from "@/components/Toast";
import type { Role } from "@/session";
import type { Share } from "../api";
import { usePlayground, useRun } from "../state";

const roles: readonly { value: Role; label: string }[] = [
  { value: "viewer", label: "Everybody in the tenant" },
  { value: "developer", label: "Developers" },
  { value: "reviewer", label: "Reviewers" },
  { value: "operator", label: "Operators" },
  { value: "auditor", label: "Auditors" },
  { value: "admin", label: "Admins" },
];
const lifetimes = [
  { value: "1h", label: "1 hour" },
  { value: "24h", label: "1 day" },
  { value: "168h", label: "7 days" },
  { value: "720h", label: "30 days" },
  { value: "2160h", label: "90 days" },
] as const;

/** Makes links to a run, lists them, and ends them. */
export function ShareDialog({ onClose }: { onClose: () => void }) {
  const { tenant } = usePlayground();
  const run = useRun();
  const queries = useQueryClient();
  const [kind, setKind] = useState<"role" | "snapshot">("role");
  const [role, setRole] = useState<Role>("developer");
  const [lifetime, setLifetime] = useState<(typeof lifetimes)[number]["value"]>("168h");
  const id = run?.id ?? "";
  const shares = useQuery({ ...read(tenant, "/v1/playground/shares", { params: { query: { run_id: id } } }), enabled: id !== "" });
  const again = () => {
    void queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/playground/shares") });
    void queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/playground/runs") });
  };
  const create = useMutation({
    mutationFn: () =>
      dataOf(
        api(tenant).POST("/v1/playground/shares", {
          body: { run_id: id, kind, ...(kind === "role" ? { role } : { expires_in: lifetime }) },
        }),
      ),
    onSuccess: async (share) => {
      again();
      try {
        await navigator.clipboard.writeText(linkOf(share));
        toast("Link copied");
      } catch {
        toast("Link made"); // the list has it with a copy button
      }
    },
  });
  const end = useMutation({
    mutationFn: (share: string) => api(tenant).DELETE("/v1/playground/shares/{id}", { params: { path: { id: share } } }),
    onSuccess: () => {
      again();
      toast("Link ended");
    },
  });
  if (!run) return null;
  const failed = create.error ?? end.error ?? shares.error;
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title="Share this run"
      description={
        kind === "role"
          ? "People with the role open the run with the link: its prompts, variables and outputs, also later ones. They can rate and comment."
          : "A copy of the run as it is now. People of the tenant who have the link read it, until it expires."
      }
      footer={
        <>
          <Button onClick={onClose}>Close</Button>
          <Button look="accent" busy={create.isPending} onClick={() => create.mutate()}>
            Make link
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3 pb-3">
        <div>
          <Segments
            label="Kind of link"
            value={kind}
            tabs={[
              { value: "role", label: "Live, by role" },
              { value: "snapshot", label: "Snapshot" },
            ]}
            onChange={setKind}
          />
        </div>
        {kind === "role" ? (
          <Field label="Who may open it">
            <Select label="Who may open it" value={role} choices={roles} onChange={setRole} />
          </Field>
        ) : (
          <Field label="Expires after">
            <Select label="Expires after" value={lifetime} choices={lifetimes} onChange={setLifetime} />
          </Field>
        )}
        {failed && <ErrorPanel error={failed} />}
        {(shares.data?.data ?? []).length > 0 && (
          <section>
            <h3 className="mb-1 text-12 font-medium text-ink-2">Links to this run</h3>
            <ul aria-label="Links" className="rounded-card border border-line">
              {shares.data?.data.map((share) => (
                <li key={share.id} className="flex items-center gap-2 border-b border-line px-3 py-1.5 last:border-b-0">
                  <ShareWords share={share} />
                  <CopyButton text={linkOf(share)} label="Copy link" />
                  <Button small look="danger" busy={end.isPending && end.variables === share.id} onClick={() => end.mutate(share.id)}>
                    End link
                  </Button>
                </li>
              ))}
            </ul>
          </section>
        )}
      </div>
    </Dialog>
  );
}

function ShareWords({ share }: { share: Share }) {
  return (
    <span className="flex min-w-0 flex-1 flex-col">
      <span className="truncate">
        {share.kind === "role" ? (roles.find((r) => r.value === share.role)?.label ?? share.role) : "Snapshot"}
      </span>
      <span className="text-12 text-ink-3">
        {share.expires_at ? (
          <>
            until <Time iso={share.expires_at} />
          </>
        ) : (
          <>
            since <Time iso={share.created_at} />
          </>
        )}
      </span>
    </span>
  );
}

function linkOf(share: Pick<Share, "url">): string {
  return serverURL() + share.url;
}
