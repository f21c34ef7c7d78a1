import { lazy, Suspense } from "react";
import type { Problem } from "./editor/problems";
import { Skeleton } from "./Skeleton";

const Editor = lazy(() => import("./editor/Editor").then((m) => ({ default: m.Editor })));

/** Text that a person edits: JSON bodies, scenarios. */
export function CodeEditor(props: {
  label: string;
  text: string;
  language?: "json" | "text";
  height?: number;
  onChange: (text: string) => void;
  /** Lines that are marked, until the text changes. */
  problems?: readonly Problem[] | undefined;
  /** A line to show, with the cursor on it; a new object shows it again. */
  shown?: { line: number } | undefined;
}) {
  const height = props.height ?? 320;
  return (
    <div className="overflow-hidden rounded-card border border-control bg-surface" style={{ minHeight: height }}>
      <Suspense fallback={<Skeleton className="m-3 w-1/2" />}>
        <Editor
          label={props.label}
          text={props.text}
          language={props.language ?? "json"}
          maxHeight={height}
          onChange={props.onChange}
          problems={props.problems}
          shown={props.shown}
        />
      </Suspense>
    </div>
  );
}
