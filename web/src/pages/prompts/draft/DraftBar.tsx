import { useMutation } from "@tanstack/react-query";
import { AlertTriangle, Check, Loader2, Save, Trash2 } from "lucide-react";
import { useState } from "react";
import { api, asApiError, dataOf } from "@/api";
import { People, statusText } from "@/collab";
import { Button } from "@/components/Button";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { toast } from "@/components/Toast";
import { modKey } from "@/hooks/shortcuts";
import { useOneTenant } from "@/routes";
import { useReread } from "../acts";
import type { Prompt } from "../prompt";
import type { DraftEditing } from "./useDraft";

/** Whether the draft is saved, and the acts on it. */
export function DraftBar({ prompt, draft, onSave }: { prompt: Prompt; draft: DraftEditing; onSave: () => void }) {
  const [asking, setAsking] = useState(false);
  return (
    <div className="sticky top-0 z-10 border-b border-line bg-surface">
      <div className="flex flex-wrap items-center gap-2 px-4 py-2 md:px-6">
        <div role="status" className="min-w-0 flex-1 max-md:basis-full">
          <Status draft={draft} />
        </div>
        {draft.shared && <People draft={draft.shared} />}
        {draft.stored && (
          <Button icon={Trash2} look="ghost" onClick={() => setAsking(true)}>
            Discard draft…
          </Button>
        )}
        <Button look="accent" icon={Save} hint={`${modKey} ↵`} onClick={onSave}>
          Save version…
        </Button>
      </div>
      {draft.lost && <Lost draft={draft} />}
      {asking && <DiscardDialog prompt={prompt} draft={draft} onClose={() => setAsking(false)} />}
    </div>
  );
}

function Status({ draft }: { draft: DraftEditing }) {
  const [icon, text, look] = statusOf(draft);
  return (
    <span className={`inline-flex items-center gap-1.5 text-12 ${look}`}>
      {icon}
      {text}
    </span>
  );
}

const glyph = { "aria-hidden": true, className: "size-3.5 shrink-0", strokeWidth: 2 } as const;

function statusOf(draft: DraftEditing): [React.ReactNode, string, string] {
  if (draft.mistakes.length > 0)
    return [<AlertTriangle key="i" {...glyph} />, `Not saved: ${placeWord(draft.mistakes[0]?.place)} is not valid`, "text-red"];
  const { shared } = draft;
  if (shared && (shared.problem || shared.status === "offline"))
    return [<AlertTriangle key="i" {...glyph} />, statusText(shared), shared.problem ? "text-red" : "text-amber"];
  if (draft.lost) return [<AlertTriangle key="i" {...glyph} />, "Not saved", "text-amber"];
  switch (draft.state) {
    case "failed":
      return [<AlertTriangle key="i" {...glyph} />, `Not saved: ${asApiError(draft.error).message}`, "text-red"];
    case "saving":
    case "waiting":
      return [<Loader2 key="i" {...glyph} className="size-3.5 shrink-0 animate-turn" />, "Saving the draft…", "text-ink-2"];
    default:
      return draft.stored
        ? [<Check key="i" {...glyph} />, draft.stored.problem ? "Draft saved, with a mistake" : "Draft saved", "text-ink-2"]
        : [null, "No draft yet. It begins with your first change.", "text-ink-3"];
  }
}

function placeWord(place: string | undefined): string {
  return place === "input_schema" ? "the input schema" : (place ?? "the form");
}

/** Somebody else wrote the draft. The person chooses; nothing is lost without a click. */
function Lost({ draft }: { draft: DraftEditing }) {
  return (
    <div
      role="alert"
      className="mx-4 mb-2 flex flex-wrap items-center gap-2 rounded-card border border-amber-line bg-amber-tint p-3 md:mx-6"
    >
      <p className="min-w-0 flex-1">
        <span className="font-medium text-amber">Somebody else changed the draft meanwhile.</span> Your changes are on this page only.
      </p>
      <Button small onClick={draft.reload}>
        Load their draft
      </Button>
      <Button small look="danger" onClick={draft.overwrite}>
        Replace it by mine
      </Button>
    </div>
  );
}

function DiscardDialog({ prompt, draft, onClose }: { prompt: Prompt; draft: DraftEditing; onClose: () => void }) {
  const tenant = useOneTenant();
  const reread = useReread(tenant);
  const discard = useMutation({
    mutationFn: async () => {
      await draft.flush();
      const header = draft.stored ? { "If-Match": draft.stored.etag } : {};
      return dataOf(api(tenant).DELETE("/v1/prompts/{name}/draft", { params: { path: { name: prompt.name }, header } }));
    },
    onSuccess: async () => {
      toast("Draft discarded");
      onClose();
      await reread();
      draft.reload();
    },
  });
  const lost = discard.error !== null && asApiError(discard.error).status === 412;
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title="Discard the draft?"
      effect={
        prompt.latest === null
          ? "The prompt has no version yet: its whole content is lost."
          : `The next draft begins with v${prompt.latest}.`
      }
      undo="This cannot be undone."
      action="Discard draft"
      danger
      busy={discard.isPending}
      error={lost ? new Error("Somebody changed the draft meanwhile. Nothing was done; look at it, and try again.") : discard.error}
      onConfirm={() => discard.mutate()}
      call={{ method: "DELETE", path: `/v1/prompts/${prompt.name}/draft` }}
    />
  );
}
