import { Pencil, Plus } from "lucide-react";
import { Button } from "@/components/Button";
import { Skeleton, useSlow } from "@/components/Skeleton";
import { ErrorPanel } from "@/components/States";
import type { Shown } from "../Dialogs";
import { type Column, letters, withColumn } from "../setup/editor";
import { newMessage } from "../setup/messages";
import { useEdit, usePlayground } from "../state";
import { useColumns } from "../useColumns";
import { MessageEditor } from "./MessageEditor";
import { PromptText } from "./PromptText";

/** The messages of a column: text that can be edited, or a saved prompt that can be copied to edit it. */
export function PromptPart({ at, column }: { at: number; column: Column; onDialog: (dialog: Shown) => void }) {
  const { readOnly } = usePlayground();
  const { estimate, estimateError } = useColumns();
  const wrong = estimateError ? null : estimate?.columns[at]?.error;
  return (
    <div className="flex min-h-0 flex-col border-b border-line">
      <section
        aria-label={`Prompt of column ${letters[at]}`}
        tabIndex={0}
        className="max-h-[38vh] min-h-0 flex-1 overflow-y-auto py-2 focus-visible:-outline-offset-2 max-md:max-h-none"
      >
        {column.source.from === "text" && !readOnly ? <Editable at={at} column={column} /> : <Saved at={at} column={column} />}
      </section>
      {wrong && !readOnly && (
        <p role="alert" className="border-t border-amber-line bg-amber-tint px-3 py-1.5 text-12 text-amber">
          {wrong.message}
        </p>
      )}
    </div>
  );
}

function Editable({ at, column }: { at: number; column: Column }) {
  const edit = useEdit();
  const { source } = column;
  if (source.from !== "text") return null;
  const { messages } = source.content;
  const set = (next: typeof messages) =>
    edit((e) => withColumn(e, at, { source: { ...source, content: { ...source.content, messages: next } } }));
  const last = messages.at(-1)?.role;
  return (
    <>
      {messages.map((message, i) => (
        <MessageEditor
          key={message.key}
          name={`message ${i + 1} of column ${letters[at]}`}
          message={message}
          onChange={(changed) => set(messages.map((m) => (m.key === message.key ? changed : m)))}
          {...(messages.length > 1 ? { onRemove: () => set(messages.filter((m) => m.key !== message.key)) } : {})}
        />
      ))}
      <div className="px-2 pt-0.5">
        <Button small look="ghost" icon={Plus} onClick={() => set([...messages, newMessage(last === "user" ? "assistant" : "user")])}>
          Message
        </Button>
      </div>
    </>
  );
}

function Saved({ at, column }: { at: number; column: Column }) {
  const { readOnly } = usePlayground();
  const { prompts, promptErrors } = useColumns();
  const edit = useEdit();
  const { source } = column;
  const prompt = prompts[at];
  const content = source.from === "text" ? source.content : prompt?.content;
  const slow = useSlow(!content && !promptErrors[at]);
  if (source.from === "prompt" && promptErrors[at]) return <ErrorPanel error={promptErrors[at]} />;
  if (!content) {
    return slow ? (
      <div className="flex flex-col gap-2 px-3 py-1">
        <Skeleton className="w-16" />
        <Skeleton className="w-4/5" />
        <Skeleton className="w-3/5" />
      </div>
    ) : null;
  }
  const copy = () =>
    prompt &&
    edit((e) =>
      withColumn(e, at, {
        source: { from: "text", content: prompt.content, origin: { name: prompt.name, version: prompt.version } },
        // The settings of the prompt stay in force in its copy.
        model: column.model ?? (typeof prompt.config.model === "string" ? prompt.config.model : null),
        ...settingsOf(prompt.config, column),
      }),
    );
  return (
    <>
      {prompt?.problem && <p className="mx-3 mb-2 rounded-control bg-amber-tint px-2 py-1 text-12 text-amber">{prompt.problem}</p>}
      <PromptText at={at} content={content} />
      {!readOnly && prompt && (
        <div className="px-2 pt-0.5">
          <Button small look="ghost" icon={Pencil} onClick={copy}>
            Edit a copy
          </Button>
        </div>
      )}
    </>
  );
}

function settingsOf(config: Record<string, unknown>, column: Column): Partial<Column> {
  const { model: _, tools, response_format, ...params } = config;
  return {
    params: { ...params, ...column.params },
    tools: column.tools ?? (Array.isArray(tools) ? (tools as Column["tools"]) : null),
    responseFormat: column.responseFormat ?? response_format ?? null,
  };
}
