import { useMutation } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useState } from "react";
import { api } from "@/api";
import { Field, Input } from "@/components/Field";
import { FormDialog } from "@/components/FormDialog";
import { toast } from "@/components/Toast";
import { useOneTenant } from "@/routes";
import { useReread } from "../acts";
import { Difference } from "../Difference";
import type { Prompt } from "../prompt";
import { orderOf } from "./form";
import type { DraftEditing } from "./useDraft";

export interface SaveDialogProps {
  prompt: Prompt;
  draft: DraftEditing;
  onClose: () => void;
  onSaved: (version: number) => void;
}

/** Saves the draft as a version. It shows the difference to the newest version, and says if the content exists already. */
export function SaveDialog({ prompt, draft, onClose, onSaved }: SaveDialogProps) {
  const tenant = useOneTenant();
  const reread = useReread(tenant);
  const [message, setMessage] = useState("");
  const [flushed, setFlushed] = useState(false);
  const flush = useEffectEvent(async () => setFlushed(await draft.flush()));
  useEffect(() => void flush(), []);

  const save = useMutation({
    mutationFn: async () => {
      if (!draft.form) throw new Error("The draft has not loaded yet.");
      const { order } = orderOf(draft.form);
      const parent = draft.stored?.base;
      const body = { ...order, ...(message ? { message } : {}), ...(parent ? { parent } : {}) };
      const { data, response } = await api(tenant).POST("/v1/prompts/{name}/versions", { params: { path: { name: prompt.name } }, body });
      if (!data) throw new Error("The server answered without a version.");
      await discard(tenant, prompt.name, draft.stored?.etag);
      return { version: data.version, isNew: response.status === 201 };
    },
    onSuccess: async ({ version, isNew }) => {
      if (isNew) toast(`Version ${version} saved`, { description: "No label names it yet. Promote it when it is ready." });
      else toast(`Version ${version} has this content already`, { description: "Nothing was added." });
      await reread();
      onSaved(version);
    },
  });
  const problem = draft.stored?.problem;
  const blocked = draft.mistakes[0]?.message ?? problem?.message;
  return (
    <FormDialog
      open
      wide
      onOpenChange={(open) => !open && onClose()}
      title="Save a version"
      description="A version never changes. Callers use it once a label names it."
      action="Save version"
      ready={flushed && draft.stored !== null && !blocked}
      busy={save.isPending}
      error={save.error}
      onSubmit={() => save.mutate()}
    >
      <Field label="Message" hint="What changed, for people who read the list of versions">
        <Input autoFocus value={message} maxLength={500} onChange={(e) => setMessage(e.target.value)} />
      </Field>
      {blocked && <p className="rounded-card border border-red-line bg-red-tint p-3 break-words text-red">{blocked}</p>}
      {draft.stored === null && flushed && (
        <p className="text-ink-2">There is no draft: the content is that of v{prompt.latest}. Change it first.</p>
      )}
      {flushed && draft.stored !== null && !blocked && prompt.latest !== null && <Difference name={prompt.name} from="latest" to="draft" />}
    </FormDialog>
  );
}

/** Discards a draft that is a version now. If somebody wrote it meanwhile, it stays. */
async function discard(tenant: string, name: string, etag: string | undefined): Promise<void> {
  if (!etag) return;
  try {
    await api(tenant).DELETE("/v1/prompts/{name}/draft", { params: { path: { name }, header: { "If-Match": etag } } });
  } catch {
    // It has changes of somebody else.
  }
}
