import { lazy, Suspense, useRef, useState } from "react";
import { NewComment, type SharedDraft } from "@/collab";
import { TemplateEditor } from "@/components/TemplateEditor";
import type { PlacedProblem, TextPart } from "./form";

const SharedText = lazy(() => import("@/collab/SharedText").then((m) => ({ default: m.SharedText })));

export interface MessageTextProps {
  /** Names the text for screen readers. */
  label: string;
  part: TextPart;
  /** The draft as others edit it too; null while nobody can. */
  shared: SharedDraft | null;
  /** The text of a part that is not shared yet. */
  onChange: (text: string) => void;
  problems: readonly PlacedProblem[];
}

const lines = 20; // pixels of each

/** The text of one message: shared with everybody who edits the draft, once the server has the draft. */
export function MessageText({ label, part, shared, onChange, problems }: MessageTextProps) {
  const marked = problems.flatMap((p) => (p.line === null ? [] : [{ line: p.line, message: p.message }]));
  const [range, setRange] = useState<{ from: number; to: number } | null>(null);
  // Where the person types while the text becomes shared: the new editor goes on there.
  const typing = useRef<number | null>(null);
  const plain = (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only notices where the focus is.
    <div onFocus={() => (typing.current ??= part.text.length)} onBlur={() => (typing.current = null)}>
      <TemplateEditor
        label={label}
        text={part.text}
        onChange={(text) => {
          typing.current = endOfChange(part.text, text);
          onChange(text);
        }}
        problems={marked}
      />
    </div>
  );
  if (!shared || !part.shared || !shared.session.documents.has(part.shared)) return plain;
  return (
    <div className="bg-surface">
      <Suspense fallback={<div className="p-2 font-mono text-12/5 break-words whitespace-pre-wrap">{part.text}</div>}>
        <SharedText
          draft={shared}
          text={part.shared}
          label={label}
          minHeight={4 * lines}
          maxHeight={28 * lines}
          problems={marked}
          cursor={typing.current}
          onSelect={setRange}
        />
      </Suspense>
      {range && (
        <div className="border-t border-line p-2">
          <NewComment draft={shared} text={part.shared} range={range} />
        </div>
      )}
    </div>
  );
}

/** Where a change ends in the new text. */
function endOfChange(before: string, after: string): number {
  let tail = 0;
  while (tail < before.length && tail < after.length && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  return after.length - tail;
}
