import { TemplateEditor } from "@/components/TemplateEditor";
import type { PlacedProblem } from "./form";

export interface MessageTextProps {
  /** Names the text for screen readers. */
  label: string;
  value: string;
  onChange: (text: string) => void;
  problems: readonly PlacedProblem[];
}

/** The text of one message. */
export function MessageText({ label, value, onChange, problems }: MessageTextProps) {
  const lines = problems.flatMap((p) => (p.line === null ? [] : [{ line: p.line, message: p.message }]));
  return <TemplateEditor label={label} text={value} onChange={onChange} problems={lines} />;
}
