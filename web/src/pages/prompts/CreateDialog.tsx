import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { ApiError, api, asApiError, dataOf, readKey, type Schemas } from "@/api";
import { Field, Input, TextArea } from "@/components/Field";
import { FormDialog } from "@/components/FormDialog";
import { Segments } from "@/components/Tabs";
import { useOneTenant } from "@/routes";
import { nameProblem } from "./prompt";

type Order = Schemas["PromptDraftOrder"];

const kinds = [
  { value: "chat", label: "Chat: messages" },
  { value: "text", label: "Text: one template" },
] as const;

/** Makes a prompt with a draft, and opens the draft. The first version is saved there. */
export function CreateDialog({ folder, onClose }: { folder: string; onClose: () => void }) {
  const tenant = useOneTenant();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState(folder);
  const [kind, setKind] = useState<Order["kind"]>("chat");
  const [text, setText] = useState("");
  const problem = name === "" || name === folder ? null : nameProblem(name);
  const body: Order = kind === "text" ? { kind, text } : { kind, messages: [{ role: "user", content: text }] };
  const create = useMutation({
    mutationFn: async () => {
      await refuseTaken(tenant, name);
      const params = { path: { name }, header: { "If-None-Match": "*" } };
      return dataOf(api(tenant).PUT("/v1/prompts/{name}/draft", { params, body }));
    },
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/prompts") });
      onClose();
      void navigate({ to: "/t/$tenant/prompts/$", params: { tenant, _splat: name }, search: { tab: "draft" } });
    },
  });
  const refused = create.error ? asApiError(create.error) : null;
  const ofName = refused && (refused.param === "name" || refused.status === 412);
  return (
    <FormDialog
      open
      wide
      onOpenChange={(open) => !open && onClose()}
      title="Create a prompt"
      description="It begins as a draft. Callers can use it once a version is saved."
      action="Create prompt"
      ready={name !== "" && nameProblem(name) === null}
      busy={create.isPending}
      error={ofName ? null : create.error}
      onSubmit={() => create.mutate()}
      call={{ method: "PUT", path: `/v1/prompts/${name || "NAME"}/draft`, body }}
    >
      <Field
        label="Name"
        hint="Folders with / between them, such as support/answer. It cannot be changed later."
        error={problem ?? (ofName ? takenText(name, refused) : null)}
      >
        <Input mono autoFocus autoComplete="off" spellCheck={false} value={name} onChange={(e) => setName(e.target.value.trim())} />
      </Field>
      <div className="flex flex-col items-start gap-1">
        <span className="text-12 font-medium text-ink-2">Kind</span>
        <Segments label="Kind" value={kind} tabs={kinds} onChange={setKind} />
        <p className="text-12 text-ink-3">
          {kind === "chat" ? "Messages with roles, and a config." : "One text, which other prompts can include."}
        </p>
      </div>
      <Field label={kind === "chat" ? "First message of the user" : "Text"} hint="{{question}} is the place of a variable.">
        <TextArea mono rows={5} value={text} onChange={(e) => setText(e.target.value)} />
      </Field>
    </FormDialog>
  );
}

/** Rejects if a prompt has the name: its draft must not be replaced by this one. */
async function refuseTaken(tenant: string, name: string): Promise<void> {
  try {
    await api(tenant).GET("/v1/prompts/{name}", { params: { path: { name } } });
  } catch (error) {
    if (asApiError(error).status === 404) return;
    throw error;
  }
  throw new ApiError(412, { message: "", param: "name" }, null);
}

function takenText(name: string, error: ApiError): string {
  return error.status === 412 ? `A prompt named ${name} exists already. Choose another name.` : error.message;
}
