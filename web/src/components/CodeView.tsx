import { lazy, Suspense } from "react";
import { CopyButton } from "./Copy";

const Editor = lazy(() => import("./editor/Editor").then((m) => ({ default: m.Editor })));

export interface CodeViewProps {
  /** Names the text for screen readers. */
  label: string;
  text: string;
  language?: "json" | "text";
  /** The height at most; the text scrolls beyond. */
  maxHeight?: number;
}

/** Text in CodeMirror, read-only: fold, search, copy. Until it has loaded, and where it cannot, the text stands plain. */
export function CodeView({ label, text, language = "text", maxHeight = 480 }: CodeViewProps) {
  return (
    <div className="relative overflow-hidden rounded-card border border-line bg-sunken">
      <Suspense fallback={<Plain label={label} text={text} maxHeight={maxHeight} />}>
        <Editor label={label} text={text} language={language} maxHeight={maxHeight} readOnly />
      </Suspense>
      <div className="absolute top-1.5 right-1.5">
        <CopyButton text={text} label={`Copy ${label.toLowerCase()}`} />
      </div>
    </div>
  );
}

function Plain({ label, text, maxHeight }: { label: string; text: string; maxHeight: number }) {
  return (
    <section aria-label={label} tabIndex={0} className="overflow-auto p-3 font-mono text-12/5 whitespace-pre-wrap" style={{ maxHeight }}>
      {text}
    </section>
  );
}

/** A value as JSON. Text of the server is shown as it came, because parsing would change integers above 2^53. */
export function JsonView({ label, value, raw, maxHeight }: { label: string; value?: unknown; raw?: string; maxHeight?: number }) {
  const text = raw ?? JSON.stringify(value, null, 2) ?? "null";
  return <CodeView label={label} text={text} language="json" {...(maxHeight ? { maxHeight } : {})} />;
}
