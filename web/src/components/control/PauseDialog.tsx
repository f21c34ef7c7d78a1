import { useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { ConfirmDialog } from "../ConfirmDialog";
import { Field, Input } from "../Field";
import { Segments } from "../Tabs";
import { type ControlState, controlCall, type Subject, subjectWords } from "./control";
import { tryControl, useControlActs } from "./useControlActs";

const states = [
  { value: "paused", label: "Pause" },
  { value: "draining", label: "Drain" },
] as const;

const meanings: Record<ControlState, string> = {
  paused: "Nothing new starts. Running work finishes.",
  draining: "Nothing new starts, and Penstock reports when nothing runs any more.",
};

/** Says what a pause touches, checks it by a dry run, and asks for the reason that the audit keeps. */
export function PauseDialog({ subject, effect, onClose }: { subject: Subject; effect: ReactNode; onClose: () => void }) {
  const [state, setState] = useState<ControlState>("paused");
  const [reason, setReason] = useState("");
  const { pause } = useControlActs();
  const dryRun = useQuery({
    queryKey: ["", "dry_run", subject.kind, subject.name, state],
    queryFn: () => tryControl(subject, state),
    gcTime: 0,
    retry: false,
  });
  const act = useMutation({ mutationFn: () => pause(subject, state, reason.trim()), onSuccess: onClose });
  return (
    <ConfirmDialog
      open
      onOpenChange={onClose}
      title={`Pause the ${subjectWords(subject)}`}
      effect={
        <div className="flex flex-col gap-3 text-13">
          <div className="rounded-card border border-amber-line bg-amber-tint px-3 py-2">{effect}</div>
          <div className="flex flex-wrap items-center gap-3">
            <Segments label="How" value={state} tabs={states} onChange={setState} />
            <span className="min-w-0 flex-1 text-12 text-ink-2">{meanings[state]}</span>
          </div>
          <Field label="Reason" hint="People who wait see it, and the audit keeps it.">
            <Input maxLength={256} value={reason} placeholder="Provider maintenance" onChange={(e) => setReason(e.target.value)} />
          </Field>
        </div>
      }
      undo="You can resume at any time. Jobs are still accepted and wait; none is lost."
      action={state === "paused" ? `Pause ${subject.kind}` : `Drain ${subject.kind}`}
      waiting={!dryRun.isSuccess}
      busy={act.isPending}
      error={act.error ?? dryRun.error}
      onConfirm={() => act.mutate()}
      call={controlCall(subject, state, reason.trim())}
    />
  );
}
