import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { asApiError, type CurlCall, read } from "@/api";
import { Button } from "@/components/Button";
import { Field, Input } from "@/components/Field";
import { FormDialog } from "@/components/FormDialog";
import { Select } from "@/components/Select";
import { toast } from "@/components/Toast";
import { useOneTenant } from "@/routes";
import { type MoveOrder, moveLabel, removeLabel, requestMove, useHas, useReread } from "./acts";
import { Difference } from "./Difference";
import { labelProblem, latestLabel, likelyLabel, type Prompt, protectionOf, wayOf } from "./prompt";

const newLabel = "*";

export interface PromoteDialogProps {
  prompt: Prompt;
  version: number;
  /** The label to move; absent: the likely one. */
  label?: string | undefined;
  onClose: () => void;
}

/** The versions that the labels name, 0 for a label that does not exist. */
function seenOf(prompt: Prompt): Record<string, number> {
  return Object.fromEntries(prompt.labels.filter((l) => l.label !== latestLabel).map((l) => [l.label, l.version]));
}

/**
 * Moves a label to a version, or asks for it where the label is protected. It shows the difference to the version that it replaces, and
 * names that version to the server: if somebody moved the label meanwhile, nothing is done.
 */
export function PromoteDialog({ prompt, version, label: asked, onClose }: PromoteDialogProps) {
  const tenant = useOneTenant();
  const reread = useReread(tenant);
  const has = useHas(tenant);
  const protections = useQuery(read(tenant, "/v1/prompt_protections"));
  const fresh = useQuery(read(tenant, "/v1/prompts/{name}", { params: { path: { name: prompt.name } } }));
  const [seen, setSeen] = useState(() => seenOf(prompt));
  const [chosen, setChosen] = useState(asked ?? likelyLabel(prompt, version));
  const [typedLabel, setTypedLabel] = useState("");
  const [reason, setReason] = useState("");
  const [confirmed, setConfirmed] = useState("");

  const names = [...new Set([...Object.keys(seen), ...(chosen === newLabel ? [] : [chosen])])];
  const label = chosen === newLabel ? typedLabel : chosen;
  const expect = seen[label] ?? 0;
  const protection = protectionOf(protections.data?.data ?? [], label, prompt.name);
  const way = wayOf(protection, has);
  const order: MoveOrder = { name: prompt.name, label, version, expect, reason };
  const change = useMutation({
    mutationFn: async () => {
      if (way === "request") await requestMove(tenant, order);
      else return moveLabel(tenant, order);
      return null;
    },
    onSuccess: (moved) => {
      if (moved === null)
        toast("Promotion requested", { description: `Somebody with the role ${protection?.roles.join(" or ")} decides.` });
      else toast(`${label} names v${version}`, { undo: () => void undo(tenant, order, moved.etag, reread) });
      void reread();
      onClose();
    },
    onError: reread,
  });
  const now = fresh.data ? (seenOf(fresh.data)[label] ?? 0) : expect;
  const lost = (change.error !== null && asApiError(change.error).status === 412) || now !== expect;
  const lookAgain = async () => {
    const { data } = await fresh.refetch();
    if (data) setSeen(seenOf(data));
    change.reset();
  };
  const needsTyping = protection !== undefined && way === "move";
  const same = expect === version;
  const wrong = chosen === newLabel && typedLabel !== "" ? labelProblem(typedLabel) : null;
  const ready = label !== "" && wrong === null && !same && !lost && protections.data !== undefined && (!needsTyping || confirmed === label);
  return (
    <FormDialog
      open
      wide
      onOpenChange={(open) => !open && onClose()}
      title={titleOf(way, version, expect)}
      description={prompt.name}
      action={way === "request" ? "Request promotion" : expect > version ? "Roll back" : `Promote to ${label || "label"}`}
      ready={ready}
      busy={change.isPending}
      error={lost ? null : change.error}
      onSubmit={() => change.mutate()}
      call={callOf(order, way)}
    >
      <div className="flex flex-wrap gap-3">
        <Field label="Label" className="min-w-48">
          <Select
            label="Label"
            value={chosen}
            choices={[...names.map((name) => ({ value: name, label: name })), { value: newLabel, label: "New label…" }]}
            onChange={setChosen}
          />
        </Field>
        {chosen === newLabel && (
          <Field label="New label" error={wrong} className="min-w-48 flex-1">
            <Input mono autoFocus autoComplete="off" value={typedLabel} onChange={(e) => setTypedLabel(e.target.value.trim())} />
          </Field>
        )}
        <Field label="Reason" hint="For the history" className="min-w-56 flex-1">
          <Input value={reason} maxLength={500} onChange={(e) => setReason(e.target.value)} />
        </Field>
      </div>
      {way === "request" && protection && (
        <p className="rounded-card border border-violet-line bg-violet-tint px-3 py-2 text-violet">
          {label} is protected. Somebody with the role {protection.roles.join(" or ")}, who neither asks for the move nor wrote v{version},
          approves it.
        </p>
      )}
      {lost ? (
        <Lost label={label} expect={expect} now={now} onLook={() => void lookAgain()} />
      ) : (
        <Replaced label={label} name={prompt.name} from={expect} to={version} />
      )}
      {needsTyping && (
        <Field
          label={
            <>
              {label} is protected. Type <span className="font-mono text-ink">{label}</span> to confirm
            </>
          }
        >
          <Input autoComplete="off" spellCheck={false} value={confirmed} onChange={(e) => setConfirmed(e.target.value.trim())} />
        </Field>
      )}
    </FormDialog>
  );
}

function titleOf(way: "move" | "request" | "none", version: number, expect: number): string {
  if (way === "request") return `Request promotion of v${version}`;
  return expect > version ? `Roll back to v${version}` : `Promote v${version}`;
}

function callOf({ name, label, version, expect, reason }: MoveOrder, way: string): CurlCall {
  const body = { version, expect, ...(reason ? { reason } : {}) };
  const path = `/v1/prompts/${name}/labels/${label || "LABEL"}`;
  return way === "request" ? { method: "POST", path: `${path}/requests`, body } : { method: "PUT", path, body };
}

/** The content that the label names now, and what changes for its callers. */
function Replaced({ label, name, from, to }: { label: string; name: string; from: number; to: number }) {
  if (label === "") return null;
  if (from === 0)
    return (
      <p className="text-14">
        {label} is a new label. It names v{to}.
      </p>
    );
  if (from === to)
    return (
      <p className="text-14">
        {label} names v{to} already.
      </p>
    );
  return (
    <div className="flex flex-col gap-2">
      <p className="text-14">
        <span className="font-medium">v{to}</span> replaces <span className="font-medium">v{from}</span> for everyone who uses {label}. Jobs
        and batches that were accepted before keep v{from}.
      </p>
      <Difference name={name} from={String(from)} to={String(to)} />
    </div>
  );
}

function Lost({ label, expect, now, onLook }: { label: string; expect: number; now: number; onLook: () => void }) {
  return (
    <div role="alert" className="flex flex-wrap items-center gap-3 rounded-card border border-amber-line bg-amber-tint p-3">
      <p className="min-w-0 flex-1">
        <span className="font-medium text-amber">Somebody moved {label} meanwhile.</span> Nothing was done. It named{" "}
        {expect === 0 ? "no version" : `v${expect}`}
        {now !== expect && `, and names ${now === 0 ? "no version" : `v${now}`} now`}. Look again at the difference before you promote.
      </p>
      <Button small onClick={onLook}>
        Look again
      </Button>
    </div>
  );
}

/** Brings the label back to where it was, unless somebody moved it since. */
async function undo(tenant: string, order: MoveOrder, etag: string | null, reread: () => Promise<void>): Promise<void> {
  const { name, label, version, expect } = order;
  try {
    if (expect === 0) await removeLabel(tenant, name, label, etag);
    else await moveLabel(tenant, { ...order, version: expect, expect: version, reason: `Undo of the move to v${version}` });
    toast(expect === 0 ? `${label} is removed` : `${label} names v${expect} again`);
  } catch (error) {
    const e = asApiError(error);
    toast("The move was not undone", { description: e.status === 412 ? `Somebody moved ${label} since.` : e.message });
  }
  await reread();
}
