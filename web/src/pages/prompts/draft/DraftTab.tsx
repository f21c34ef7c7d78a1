import { useState } from "react";
import { Comments } from "@/collab";
import { later } from "@/components/later";
import { Skeleton, useSlow } from "@/components/Skeleton";
import { EmptyState, ErrorPanel } from "@/components/States";
import { WithPane } from "@/frame/Page";
import { useShortcuts } from "@/hooks/shortcuts";
import { VersionContent } from "../Content";
import type { Prompt } from "../prompt";
import { DraftBar } from "./DraftBar";
import { type Form, type FormMessage, placeOf, withTexts } from "./form";
import { Messages, ProblemTexts } from "./Messages";
import { MessageText } from "./MessageText";
import { Preview } from "./Preview";
import { JsonField, Settings } from "./Settings";
import { type Draft, type DraftEditing, useDraft } from "./useDraft";

const SaveDialog = later(() => import("./SaveDialog").then((m) => m.SaveDialog));

export interface DraftTabProps {
  prompt: Prompt;
  /** The version that a new draft begins with. */
  base: number | null;
  mayWrite: boolean;
  onSaved: (version: number) => void;
}

/** The draft: its editor beside the variables and the preview. */
export function DraftTab({ prompt, base, mayWrite, onSaved }: DraftTabProps) {
  const [begin] = useState(base); // a version that somebody saves meanwhile does not change this draft
  const draft = useDraft({ name: prompt.name, kind: prompt.kind, base: begin, mayWrite });
  const [saving, setSaving] = useState(false);
  const save = () => setSaving(true);
  useShortcuts({ "mod+Enter": () => (mayWrite && draft.form ? save() : false), "mod+s": () => (mayWrite ? save() : false) });
  const slow = useSlow(draft.form === null && draft.error === null);
  if (draft.form === null) {
    if (draft.error !== null) return <ErrorPanel error={draft.error} onRetry={draft.reload} />;
    return slow ? <Skeleton className="m-6 h-48" /> : null;
  }
  return (
    <WithPane
      pane={
        <Preview
          name={prompt.name}
          of={draft.began ? { version: draft.began.version } : { draft: true, etag: draft.stored?.etag ?? null }}
          schema={(draft.stored ?? draft.began)?.variables_schema ?? null}
        />
      }
    >
      {mayWrite && <DraftBar prompt={prompt} draft={draft} onSave={save} />}
      <div className="px-4 py-4 md:px-6">{mayWrite ? <Editing draft={draft} form={draft.form} /> : <ReadOnly draft={draft.stored} />}</div>
      {saving && (
        <SaveDialog
          prompt={prompt}
          draft={draft}
          onClose={() => setSaving(false)}
          onSaved={(version) => {
            setSaving(false);
            onSaved(version);
          }}
        />
      )}
    </WithPane>
  );
}

function ReadOnly({ draft }: { draft: Draft | null }) {
  if (!draft) return <EmptyState title="There is no draft">Somebody with the role developer can begin one.</EmptyState>;
  const none = { version: 0, sha256: "", parent: null, author: "", message: "", created_at: "", deleted_at: null };
  return (
    <>
      <h2 className="sr-only">Draft</h2>
      <VersionContent version={{ ...draft, ...none, references: [] }} />
    </>
  );
}

function Editing({ draft, form }: { draft: DraftEditing; form: Form }) {
  const { change } = draft;
  const ofServer = draft.state === "saved" && draft.stored?.problem ? [placeOf(draft.stored.problem)] : [];
  const problems = [...draft.mistakes.map((m) => ({ ...m, line: null })), ...ofServer];
  const edit = (next: (old: FormMessage[]) => FormMessage[]) => change((old) => ({ ...old, messages: next(old.messages) }));
  const text = form.messages[0];
  const elsewhere = problems.filter((p) => !/^(text|messages\[|config|input_schema)/.test(p.place));
  return (
    <div className="flex flex-col gap-6">
      {form.kind === "chat" ? (
        <Messages messages={form.messages} onChange={edit} problems={problems} shared={draft.shared} />
      ) : (
        text?.parts[0]?.type === "text" && (
          <section aria-label="Text" className="overflow-hidden rounded-card border border-control">
            <MessageText
              label="Text of the prompt"
              part={text.parts[0]}
              shared={draft.shared}
              onChange={(value) => change((old) => withTexts(old, (part) => ({ ...part, text: value })))}
              problems={problems.filter((p) => p.place === "text")}
            />
            <ProblemTexts problems={problems.filter((p) => p.place === "text")} />
          </section>
        )
      )}
      {elsewhere.length > 0 && <ProblemTexts problems={elsewhere} />}
      {draft.shared && draft.shared.comments.length > 0 && (
        <section aria-label="Comments on the draft">
          <h2 className="mb-2 text-13 font-semibold">Comments</h2>
          <Comments draft={draft.shared} />
        </section>
      )}
      <section aria-label="Config">
        <h2 className="mb-2 text-13 font-semibold">Config</h2>
        <Settings config={form.config} onChange={(next) => change((old) => ({ ...old, config: next(old.config) }))} problems={problems} />
      </section>
      <JsonField
        title="Input schema"
        about={form.schema === "" ? "Derived: every variable of the templates is required." : "The JSON Schema of the variables."}
        sample={JSON.stringify((draft.stored ?? draft.began)?.variables_schema ?? { type: "object", properties: {} }, null, 2)}
        text={form.schema}
        error={problems.find((p) => p.place.startsWith("input_schema"))?.message}
        onChange={(schema) => change((old) => ({ ...old, schema }))}
      />
    </div>
  );
}
