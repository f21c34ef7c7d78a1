import { MessageSquare, ThumbsDown, ThumbsUp } from "lucide-react";
import { IconButton } from "@/components/Button";
import { cn } from "@/components/cn";
import { plural } from "@/format";
import type { Cell } from "../api";
import type { Shown } from "../Dialogs";
import { letters } from "../setup/editor";
import { isOpen } from "./cells";
import { useMark } from "./useMark";

/** Thumbs, and a comment or a correction, on the shown output. */
export function Marks({ at, cell, onDialog }: { at: number; cell: Cell | undefined; onDialog: (dialog: Shown) => void }) {
  const { own, others, allowed, save } = useMark(cell);
  const ready = cell !== undefined && !isOpen(cell) && allowed;
  const rate = (rating: 1 | -1) =>
    save.mutate({ rating: own?.rating === rating ? null : rating, comment: own?.comment ?? "", correction: own?.correction ?? "" });
  const noted = Boolean(own?.comment || own?.correction);
  return (
    <div className="flex h-10 items-center gap-1 border-t border-line px-2 text-12">
      <span className="min-w-0 flex-1 truncate px-1 text-ink-3">
        {save.error ? (
          <span role="alert" className="text-red">
            Not saved: {save.error.message}
          </span>
        ) : (
          others.length > 0 && othersWords(others)
        )}
      </span>
      <IconButton
        small
        icon={ThumbsUp}
        label={`Good output of column ${letters[at]}`}
        aria-pressed={own?.rating === 1}
        disabled={!ready}
        className={cn(own?.rating === 1 && "bg-green-tint text-green")}
        onClick={() => rate(1)}
      />
      <IconButton
        small
        icon={ThumbsDown}
        label={`Bad output of column ${letters[at]}`}
        aria-pressed={own?.rating === -1}
        disabled={!ready}
        className={cn(own?.rating === -1 && "bg-red-tint text-red")}
        onClick={() => rate(-1)}
      />
      <IconButton
        small
        icon={MessageSquare}
        label={`Comment or correct the output of column ${letters[at]}`}
        disabled={!ready}
        className={cn(noted && "bg-accent-tint text-accent")}
        onClick={() => cell && onDialog({ kind: "mark", cell: cell.n })}
      />
    </div>
  );
}

function othersWords(marks: Cell["marks"]): string {
  const good = marks.filter((m) => m.rating === 1).length;
  const bad = marks.filter((m) => m.rating === -1).length;
  const notes = marks.filter((m) => m.comment || m.correction).length;
  const words = [good > 0 && `${good} good`, bad > 0 && `${bad} bad`, notes > 0 && plural(notes, "comment")].filter(Boolean);
  return `Others: ${words.join(", ")}`;
}
