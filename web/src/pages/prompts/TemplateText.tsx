import { cn } from "@/components/cn";
import { type PieceKind, piecesOf } from "./template";

const looks: Record<PieceKind, string> = {
  text: "",
  value: "rounded-[3px] bg-violet-tint text-violet",
  section: "text-water",
  partial: "rounded-[3px] bg-green-tint text-green",
  comment: "text-ink-3 italic",
};

/** A template to read: variables, sections and included prompts have their colours. */
export function TemplateText({ text, className }: { text: string; className?: string }) {
  let at = 0;
  return (
    <div className={cn("font-mono text-12/5 break-words whitespace-pre-wrap", className)}>
      {piecesOf(text).map((piece) => {
        const key = at;
        at += piece.text.length;
        return (
          <span key={key} className={looks[piece.kind] || undefined}>
            {piece.text}
          </span>
        );
      })}
    </div>
  );
}
