import { Check, RotateCcw, Trash2 } from "lucide-react";
import { useState } from "react";
import { asApiError } from "@/api";
import { Button } from "@/components/Button";
import { Time } from "@/components/Time";
import { toast } from "@/components/Toast";
import type { Comment } from "./session";
import type { Draft } from "./useSharedDraft";

/** A field with a button, for a comment or a reply. */
function Write({ label, action, onSend }: { label: string; action: string; onSend: (body: string) => Promise<unknown> }) {
  const [body, setBody] = useState("");
  const [busy, setBusy] = useState(false);
  const send = async () => {
    setBusy(true);
    try {
      await onSend(body);
      setBody("");
    } catch (cause) {
      toast(asApiError(cause).message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      className="flex items-end gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <textarea
        aria-label={label}
        placeholder={label}
        className="min-h-8 flex-1 resize-y rounded-control border border-control bg-surface px-2 py-1 text-13"
        rows={1}
        maxLength={4000}
        value={body}
        onChange={(event) => setBody(event.target.value)}
      />
      <Button small type="submit" busy={busy} disabled={body.trim() === ""}>
        {action}
      </Button>
    </form>
  );
}

function Remark({ draft, comment }: { draft: Draft; comment: Comment }) {
  return (
    <div className="text-13">
      <p className="flex items-center gap-2 text-12 text-ink-3">
        <span className="font-medium text-ink-2">{comment.author}</span>
        <Time iso={comment.created_at} />
        {comment.person === draft.structure?.you && (
          <Button
            look="ghost"
            small
            icon={Trash2}
            aria-label="Delete comment"
            onClick={() => void draft.session.removeComment(comment.id).catch((e) => toast(asApiError(e).message))}
          />
        )}
      </p>
      <p className="break-words whitespace-pre-wrap">{comment.body}</p>
    </div>
  );
}

/** The comments of a draft, in the order of their places, with their replies. */
export function Comments({ draft, texts, writes = true }: { draft: Draft; texts?: readonly string[]; writes?: boolean }) {
  const [resolved, setResolved] = useState(false);
  const heads = draft.comments.filter((c) => !c.parent && (!texts || texts.includes(c.text)) && (resolved || !c.resolved_at));
  const hidden = draft.comments.filter((c) => !c.parent && c.resolved_at).length;
  const change = (id: string, state: "open" | "resolved") =>
    void draft.session.changeComment(id, { state }).catch((e) => toast(asApiError(e).message));
  return (
    <section aria-label="Comments" className="flex flex-col gap-3">
      {hidden > 0 && (
        <Button look="ghost" small onClick={() => setResolved(!resolved)}>
          {resolved ? "Hide resolved comments" : `Show ${hidden} resolved`}
        </Button>
      )}
      {heads.map((c) => (
        <article
          key={c.id}
          className="flex flex-col gap-2 rounded-card border border-line bg-surface p-3"
          aria-label={`Comment of ${c.author}`}
        >
          {c.quote && <blockquote className="truncate border-l-2 border-amber-solid pl-2 text-12 text-ink-3">{c.quote}</blockquote>}
          <Remark draft={draft} comment={c} />
          {draft.comments
            .filter((r) => r.parent === c.id)
            .map((r) => (
              <div key={r.id} className="border-l border-line pl-3">
                <Remark draft={draft} comment={r} />
              </div>
            ))}
          {writes && !c.resolved_at && <Write label="Reply" action="Reply" onSend={(body) => draft.session.reply(c.id, body)} />}
          {writes && (
            <div>
              {c.resolved_at ? (
                <Button look="ghost" small icon={RotateCcw} onClick={() => change(c.id, "open")}>
                  Reopen comment
                </Button>
              ) : (
                <Button look="ghost" small icon={Check} onClick={() => change(c.id, "resolved")}>
                  Resolve comment
                </Button>
              )}
            </div>
          )}
        </article>
      ))}
    </section>
  );
}

/** Comments on the selected range of a text. */
export function NewComment({ draft, text, range }: { draft: Draft; text: string; range: { from: number; to: number } }) {
  const document = draft.session.documents.get(text);
  if (!document) return null;
  return (
    <Write label="Comment on the selected text" action="Add comment" onSend={(body) => draft.session.comment(document, range, body)} />
  );
}
