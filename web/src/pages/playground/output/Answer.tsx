import { useMemo } from "react";
import { cn } from "@/components/cn";
import { indentJson } from "@/format";
import { type Look, looksLikeJSON, mostWords, piecesOfAnswer } from "./words";

const looks: Record<Look, string | undefined> = {
  plain: undefined,
  string: "text-green",
  value: "text-water",
  sign: "text-ink-3",
};

/** The text of a model, as it is: never HTML, never Markdown. JSON is set out when it is complete, and has its colours. */
export function Answer({ text, compared, streaming }: { text: string; compared: string | null; streaming: boolean }) {
  const pieces = useMemo(() => {
    const laid = (t: string) => (!streaming && looksLikeJSON(t) ? indentJson(t) : t);
    return piecesOfAnswer(laid(text), compared === null ? null : laid(compared), streaming ? mostWords.streaming : mostWords.complete);
  }, [text, compared, streaming]);
  const json = looksLikeJSON(text);
  let at = 0;
  return (
    <p className={cn("break-words whitespace-pre-wrap", json ? "font-mono text-12/5" : "text-14")}>
      {pieces.map((piece) => {
        const key = at;
        at += piece.text.length;
        if (!piece.differs && piece.look === "plain") return piece.text;
        const Tag = piece.differs ? "mark" : "span";
        return (
          <Tag
            key={key}
            className={cn(
              looks[piece.look],
              piece.differs && "rounded-[3px] bg-amber-tint box-decoration-clone ring-1 ring-amber-line ring-inset",
              piece.differs && piece.look === "plain" && "text-ink",
            )}
          >
            {piece.text}
          </Tag>
        );
      })}
      {streaming && <span aria-hidden className="ml-0.5 inline-block h-4 w-2 translate-y-0.5 bg-water-solid" />}
    </p>
  );
}
