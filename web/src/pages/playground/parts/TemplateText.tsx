import { type ReactNode, useMemo } from "react";
import { piecesOf } from "../setup/template";

/** A template with its tags as violet chips. The chips change no widths, so that the text can stand behind an input. */
export function TemplateText({ text }: { text: string }): ReactNode {
  const pieces = useMemo(() => piecesOf(text), [text]);
  let at = 0;
  return pieces.map((piece) => {
    const key = at;
    at += piece.text.length;
    if (piece.variable === undefined) return <span key={key}>{piece.text}</span>;
    return (
      <span key={key} className="rounded-[3px] bg-violet-tint text-violet">
        {piece.text}
      </span>
    );
  });
}
