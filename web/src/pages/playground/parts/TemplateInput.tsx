import type { ClipboardEvent, DragEvent } from "react";
import { cn } from "@/components/cn";
import { TemplateText } from "./TemplateText";

const lettering = "px-3 py-0.5 font-mono text-12/5 break-words whitespace-pre-wrap";

/** A field for a template. The same text stands behind it and colours the tags; it also gives the field its height. */
export function TemplateInput(props: {
  label: string;
  text: string;
  placeholder?: string;
  onChange: (text: string) => void;
  onPaste?: (event: ClipboardEvent) => void;
  onDrop?: (event: DragEvent) => void;
}) {
  return (
    <div className="relative">
      <div aria-hidden className={cn(lettering, "min-h-6")}>
        <TemplateText text={props.text} />
        {/* A line break at the end has no height without a sign behind it. */}
        {"\u200b"}
      </div>
      <textarea
        aria-label={props.label}
        value={props.text}
        placeholder={props.placeholder}
        spellCheck={false}
        onChange={(e) => props.onChange(e.target.value)}
        onPaste={props.onPaste}
        onDrop={props.onDrop}
        className={cn(
          lettering,
          "absolute inset-0 size-full resize-none overflow-hidden bg-transparent text-transparent caret-ink selection:bg-accent/25 focus-visible:-outline-offset-2",
        )}
      />
    </div>
  );
}
