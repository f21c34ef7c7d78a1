import { StateGlyph } from "../StateGlyph";
import { TimeAgo } from "../Time";
import { type Control, controlWord } from "./control";

/** What is paused or draining: since when, by whom and why. */
export function ControlNote({ control }: { control: Control }) {
  return (
    <span className="inline-flex min-w-0 flex-wrap items-center gap-x-1.5 text-12 text-ink-2">
      <StateGlyph state="paused" />
      <span className="font-medium text-amber">{controlWord(control)}</span>
      <span>
        by {control.actor || "an operator"}, <TimeAgo iso={control.since} suffix=" ago" />
      </span>
      {control.reason && <span className="min-w-0 break-words">· {control.reason}</span>}
    </span>
  );
}
