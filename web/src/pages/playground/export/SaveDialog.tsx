import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, dataOf, read, readKey } from "@/api";
import { Field, Input } from "@/components/Field";
import { FormDialog } from "@/components/FormDialog";
import { toast } from "@/components/Toast";
import { letters, withColumn } from "../setup/editor";
import { sentMessages } from "../setup/messages";
import { useEdit, useEditor, usePlayground } from "../state";
import { useColumns } from "../useColumns";
import { versionOrder } from "./version";

/** Saves a column as the next version of its prompt, or as a new prompt. The column then uses the version. */
export function SaveDialog({ column: at, onClose }: { column: number; onClose: () => void }) {
  const { tenant } = usePlayground();
  const edit = useEdit();
  const queries = useQueryClient();
  const column = useEditor((e) => e.columns[at]);
  const { effective, prompts } = useColumns();
  const source = column?.source;
  const origin = source?.from === "prompt" ? source.ref.name : (source?.origin?.name ?? "");
  const [name, setName] = useState(origin);
  const [message, setMessage] = useState("");
  const valid = /^[0-9A-Za-z][\w.-]*(\/[0-9A-Za-z][\w.-]*)*$/.test(name);
  const existing = useQuery({
    ...read(tenant, "/v1/prompts/{name}", { params: { path: { name } } }),
    enabled: valid,
    retry: false,
  });
  const content = source?.from === "text" ? source.content : prompts[at]?.content;
  const e = effective[at];
  const kind = existing.data?.kind === "text" ? "text" : "chat";
  const order =
    content && e
      ? versionOrder(kind, { messages: sentMessages(content.messages), inputSchema: content.inputSchema, effective: e, message })
      : null;
  const save = useMutation({
    mutationFn: () => {
      if (!order) throw new Error("The prompt has not been read.");
      return dataOf(api(tenant).POST("/v1/prompts/{name}/versions", { params: { path: { name } }, body: order }));
    },
    onSuccess: (version) => {
      edit((old) =>
        withColumn(old, at, {
          source: { from: "prompt", ref: { name, version: version.version } },
          model: null,
          params: {},
          tools: null,
          responseFormat: null,
        }),
      );
      void queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/prompts") });
      toast(`Saved as ${name} v${version.version}`);
      onClose();
    },
  });
  const next = existing.data
    ? `It becomes version ${(existing.data.latest ?? 0) + 1} of the prompt.`
    : "A new prompt, with this as its first version.";
  return (
    <FormDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Save column ${letters[at]} as a prompt version`}
      description="Messages, variables, model, settings, tools and response schema are saved together. A version never changes."
      action="Save version"
      ready={valid && order !== null}
      busy={save.isPending}
      error={save.error ?? undefined}
      onSubmit={() => save.mutate()}
      {...(order && valid ? { call: { method: "POST" as const, path: `/v1/prompts/${name}/versions`, body: order } } : {})}
    >
      <Field
        label="Name"
        hint={valid ? next : "Folders and a name, such as support/answer."}
        error={name !== "" && !valid ? "A name has letters, digits, . _ and -, and / between folders." : null}
      >
        <Input
          mono
          autoComplete="off"
          spellCheck={false}
          value={name}
          placeholder="support/answer"
          onChange={(ev) => setName(ev.target.value.trim())}
        />
      </Field>
      <Field label="Message" hint="What changed, for people.">
        <Input value={message} onChange={(ev) => setMessage(ev.target.value)} />
      </Field>
    </FormDialog>
  );
}
