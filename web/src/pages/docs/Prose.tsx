import type { ReactNode } from "react";
import { cn } from "@/components/cn";

/** Text of the document: paragraphs, lists and `code`, and nothing else of Markdown. */
export function Prose({ text, className }: { text: string; className?: string }) {
  const blocks = text.split(/\n{2,}/).filter((b) => b.trim() !== "");
  return (
    <div className={cn("flex flex-col gap-2", className)}>
      {blocks.map((block) => {
        const lines = block.split("\n");
        if (!lines.every((line) => line.startsWith("- "))) return <p key={block}>{inline(block)}</p>;
        return (
          <ul key={block} className="flex list-disc flex-col gap-0.5 pl-5">
            {lines.map((line) => (
              <li key={line}>{inline(line.slice(2))}</li>
            ))}
          </ul>
        );
      })}
    </div>
  );
}

/** A line with its `code`. A backslash before an asterisk is left out. */
export function inline(text: string): ReactNode[] {
  let at = 0;
  return text.split("`").map((part, i) => {
    const key = at;
    at += part.length + 1;
    if (i % 2 === 0) return <span key={key}>{part.replaceAll("\\*", "*")}</span>;
    return (
      <code key={key} className="rounded-chip bg-slate-tint px-1 font-mono text-[0.92em] text-ink">
        {part}
      </code>
    );
  });
}
