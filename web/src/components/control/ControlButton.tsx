import { useMutation } from "@tanstack/react-query";
import { Pause, Play } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useRole } from "@/session";
import { Button } from "../Button";
import { Dialog } from "../Dialog";
import { ErrorPanel } from "../States";
import { type Control, type Subject, subjectWords } from "./control";
import { PauseDialog } from "./PauseDialog";
import { useControlActs } from "./useControlActs";

export interface ControlButtonProps {
  subject: Subject;
  /** The pause or drain in force. */
  control: Control | null;
  /** What a pause touches: queued and running work. The dialog shows it. */
  effect: () => ReactNode;
  small?: boolean;
}

/** Pause… or Resume. It shows only to operators of all tenants, because a pause concerns every tenant. */
export function ControlButton({ subject, control, effect, small }: ControlButtonProps) {
  const [asking, setAsking] = useState(false);
  const { resume } = useControlActs();
  const act = useMutation({ mutationFn: (held: Control) => resume(subject, held) });
  if (!useRole(null, "operator")) return null;
  if (control) {
    const again = () => act.mutate(control);
    return (
      <>
        <Button small={Boolean(small)} icon={Play} busy={act.isPending} onClick={again} aria-label={`Resume ${subjectWords(subject)}`}>
          {small ? "Resume" : `Resume ${subject.kind}`}
        </Button>
        <Dialog
          open={act.isError}
          onOpenChange={() => act.reset()}
          title={`Not resumed: ${subjectWords(subject)}`}
          footer={<Button onClick={() => act.reset()}>Close</Button>}
        >
          <ErrorPanel error={act.error} onRetry={again} />
        </Dialog>
      </>
    );
  }
  return (
    <>
      <Button small={Boolean(small)} icon={Pause} onClick={() => setAsking(true)} aria-label={`Pause ${subjectWords(subject)}…`}>
        {small ? "Pause…" : `Pause ${subject.kind}…`}
      </Button>
      {asking && <PauseDialog subject={subject} effect={effect()} onClose={() => setAsking(false)} />}
    </>
  );
}
