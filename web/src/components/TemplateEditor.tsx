import { lazy, Suspense } from "react";
import type { Problem } from "./editor/problems";

const Editor = lazy(() => import("./editor/Editor").then((m) => ({ default: m.Editor })));

export interface TemplateEditorProps {
  label: string;
  text: string;
  onChange: (text: string) => void;
  /** Lines that are marked, until the text changes. */
  problems?: readonly Problem[] | undefined;
}

const lines = 20; // pixels of each

/** A text with {{tags}} that a person edits. It grows with the text, up to a bound. */
export function TemplateEditor({ label, text, onChange, problems }: TemplateEditorProps) {
  return (
    <div className="bg-surface" style={{ minHeight: 4 * lines }}>
      <Suspense fallback={<div className="p-2 font-mono text-12/5 break-words whitespace-pre-wrap">{text}</div>}>
        <Editor
          prose
          label={label}
          text={text}
          language="template"
          minHeight={4 * lines}
          maxHeight={28 * lines}
          onChange={onChange}
          problems={problems}
        />
      </Suspense>
    </div>
  );
}
