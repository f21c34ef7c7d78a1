import { useMutation, useQuery } from "@tanstack/react-query";
import { MoveRight, Trash2, Undo2 } from "lucide-react";
import { useState } from "react";
import { asApiError, read } from "@/api";
import { Button, IconButton } from "@/components/Button";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { PaneSection } from "@/components/KeyValue";
import { TimeAgo } from "@/components/Time";
import { toast } from "@/components/Toast";
import { useOneTenant } from "@/routes";
import { moveLabel, removeLabel, useHas, useReread } from "./acts";
import { LabelChip } from "./Names";
import {
  driftOf,
  type Label,
  latestLabel,
  type Move,
  type Prompt,
  type Protection,
  personWord,
  previousOf,
  protectionOf,
  wayOf,
} from "./prompt";

export interface LabelsProps {
  prompt: Prompt;
  moves: readonly Move[];
  /** Opens the dialog that moves a label to a version. */
  onMove: (version: number, label: string) => void;
  onShow: (version: number) => void;
}

/** The labels of a prompt, each with its version, how far it is behind, and the way back. */
export function Labels({ prompt, moves, onMove, onShow }: LabelsProps) {
  const tenant = useOneTenant();
  const protections = useQuery(read(tenant, "/v1/prompt_protections")).data?.data ?? [];
  const labels = prompt.labels.filter((l) => l.label !== latestLabel);
  return (
    <PaneSection title="Labels" aside={prompt.latest === null ? undefined : `latest is v${prompt.latest}`}>
      {labels.length === 0 && <p className="py-1 text-ink-3">No label names a version yet.</p>}
      <ul className="flex flex-col">
        {labels.map((label) => (
          <LabelRow
            key={label.label}
            prompt={prompt}
            label={label}
            protection={protectionOf(protections, label.label, prompt.name)}
            before={previousOf(moves, label.label, label.version)}
            onMove={onMove}
            onShow={onShow}
          />
        ))}
      </ul>
    </PaneSection>
  );
}

interface LabelRowProps extends Omit<LabelsProps, "moves"> {
  label: Label;
  protection: Protection | undefined;
  before: number | null;
}

function LabelRow({ prompt, label, protection, before, onMove, onShow }: LabelRowProps) {
  const tenant = useOneTenant();
  const has = useHas(tenant);
  const way = prompt.archived_at ? "none" : wayOf(protection, has);
  const drift = driftOf(label.version, prompt.latest);
  const { latest } = prompt;
  return (
    <li className="border-t border-line py-2 first:border-t-0">
      <div className="flex items-center gap-2">
        <LabelChip label={label.label} protect={protection !== undefined} />
        <button type="button" className="num font-medium text-accent hover:underline" onClick={() => onShow(label.version)}>
          v{label.version}
        </button>
        {drift && <span className="num text-12 text-amber">{drift}</span>}
        <span className="ml-auto text-12 text-ink-3">
          <TimeAgo iso={label.updated_at} />
        </span>
      </div>
      <div className="mt-0.5 truncate text-12 text-ink-3">by {personWord(label.updated_by)}</div>
      {way !== "none" && (
        <div className="mt-1.5 flex flex-wrap gap-1.5">
          {before !== null && (
            <BackButton prompt={prompt} label={label} before={before} way={way} onMove={() => onMove(before, label.label)} />
          )}
          {latest !== null && latest !== label.version && (
            <Button small icon={MoveRight} onClick={() => onMove(latest, label.label)}>
              {way === "request" ? `Request v${latest}…` : `Promote v${latest}…`}
            </Button>
          )}
          {way === "move" && <RemoveButton prompt={prompt} label={label} />}
        </div>
      )}
    </li>
  );
}

/** One click, and Undo. Where moves need an approval it asks for it instead. */
function BackButton({
  prompt,
  label,
  before,
  way,
  onMove,
}: {
  prompt: Prompt;
  label: Label;
  before: number;
  way: string;
  onMove: () => void;
}) {
  const tenant = useOneTenant();
  const reread = useReread(tenant);
  const back = useMutation({
    mutationFn: ({ to, from, reason }: { to: number; from: number; reason: string }) =>
      moveLabel(tenant, { name: prompt.name, label: label.label, version: to, expect: from, reason }),
    onSuccess: (_, { to, from }) => {
      toast(`${label.label} names v${to} again`, {
        undo: () => back.mutate({ to: from, from: to, reason: `Undo of the return to v${to}` }),
      });
    },
    onSettled: reread,
  });
  const word = before < label.version ? "Roll back to" : "Return to";
  const error = back.error ? asApiError(back.error) : null;
  const go = () => (way === "request" ? onMove() : back.mutate({ to: before, from: label.version, reason: `${word} v${before}` }));
  return (
    <>
      <Button small icon={Undo2} busy={back.isPending} onClick={go}>
        {way === "request" ? `Request v${before}…` : `${word} v${before}`}
      </Button>
      {error && (
        <p role="alert" className="w-full text-12 text-red">
          {error.status === 412 ? `Somebody moved ${label.label} meanwhile. Nothing was done; look again.` : error.message}
        </p>
      )}
    </>
  );
}

/** Removes a label, after a question: its callers are refused from then on. Undo brings it back. */
function RemoveButton({ prompt, label }: { prompt: Prompt; label: Label }) {
  const tenant = useOneTenant();
  const reread = useReread(tenant);
  const [asking, setAsking] = useState(false);
  const again = () =>
    moveLabel(tenant, { name: prompt.name, label: label.label, version: label.version, expect: 0, reason: "Undo of the removal" });
  const remove = useMutation({
    mutationFn: () => removeLabel(tenant, prompt.name, label.label, label.etag),
    onSuccess: () => {
      setAsking(false);
      toast(`${label.label} is removed`, {
        undo: () =>
          void again().then(reread, (error: unknown) => toast("The label is not back", { description: asApiError(error).message })),
      });
    },
    onSettled: reread,
  });
  return (
    <>
      <IconButton small icon={Trash2} label={`Remove the label ${label.label}…`} onClick={() => setAsking(true)} />
      <ConfirmDialog
        open={asking}
        onOpenChange={setAsking}
        title={`Remove the label ${label.label}?`}
        effect={`Calls that ask for ${prompt.name} with the label ${label.label} are refused. Versions stay as they are.`}
        undo="You can undo it, or promote a version to the label again."
        action="Remove label"
        danger
        busy={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
        call={{ method: "DELETE", path: `/v1/prompts/${prompt.name}/labels/${label.label}` }}
      />
    </>
  );
}
