import { useState } from "react";
import { Field, TextArea } from "@/components/Field";
import { FormDialog } from "@/components/FormDialog";
import { Time } from "@/components/Time";
import { personName } from "../history/words";
import { useRunState } from "../state";
import { useMark } from "./useMark";

/** A comment and a correction on an output; those of others are above. */
export function MarkDialog({ cell: n, onClose }: { cell: number; onClose: () => void }) {
  const cell = useRunState((s) => s.followed?.run.cells.find((c) => c.n === n));
  const text = useRunState((s) => s.followed?.texts.get(n)?.text) ?? "";
  const { own, others, save } = useMark(cell);
  const [comment, setComment] = useState(own?.comment ?? "");
  const [correction, setCorrection] = useState(own?.correction ?? "");
  const changed = comment !== (own?.comment ?? "") || correction !== (own?.correction ?? "");
  return (
    <FormDialog
      open
      wide
      onOpenChange={(open) => !open && onClose()}
      title="Comment and correction"
      description="They are stored with the run. Everybody who may see the run sees them."
      action="Save comment"
      ready={changed}
      busy={save.isPending}
      error={save.error ?? undefined}
      onSubmit={() => save.mutate({ rating: own?.rating ?? null, comment, correction }, { onSuccess: onClose })}
    >
      {others.map((mark) => (
        <div key={mark.author.id} className="rounded-card border border-line bg-sunken px-3 py-2">
          <p className="flex gap-2 text-12 text-ink-3">
            <span className="font-medium text-ink-2">{personName(mark.author)}</span> <Time iso={mark.at} />
          </p>
          {mark.comment && <p className="break-words whitespace-pre-wrap">{mark.comment}</p>}
          {mark.correction && <p className="mt-1 font-mono text-12/5 break-words whitespace-pre-wrap text-green">{mark.correction}</p>}
        </div>
      ))}
      <Field label="Comment">
        <TextArea rows={3} value={comment} onChange={(e) => setComment(e.target.value)} />
      </Field>
      <Field label="Correction" hint="The answer as it should have been.">
        <TextArea mono rows={8} value={correction} placeholder={text.slice(0, 200)} onChange={(e) => setCorrection(e.target.value)} />
      </Field>
      {correction === "" && text !== "" && (
        <button type="button" onClick={() => setCorrection(text)} className="self-start text-12 font-medium text-accent hover:underline">
          Begin with the output
        </button>
      )}
    </FormDialog>
  );
}
