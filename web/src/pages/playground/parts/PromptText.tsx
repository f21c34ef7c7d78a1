import { useMemo } from "react";
import { cn } from "@/components/cn";
import { diffLines } from "@/components/diff";
import type { Content, EditedMessage } from "../setup/messages";
import { useEditor } from "../state";
import { useColumns } from "../useColumns";
import { Images } from "./Images";
import { TemplateText } from "./TemplateText";

const roleNames: Record<string, string> = {
  system: "System",
  developer: "Developer",
  user: "User",
  assistant: "Assistant",
  tool: "Tool",
};

export function roleName(role: string): string {
  return roleNames[role] ?? role;
}

/** Messages to read. Where differences are marked, lines that column A lacks are green. */
export function PromptText({ at, content }: { at: number; content: Content }) {
  const { marking, prompts } = useColumns();
  const firstSource = useEditor((e) => e.columns[0]?.source);
  const first = firstSource?.from === "text" ? firstSource.content : prompts[0]?.content;
  const compared = marking && at > 0 ? first : undefined;
  return content.messages.map((message, i) => (
    <Message key={message.key} message={message} compared={compared?.messages[i]} marking={compared !== undefined} />
  ));
}

function Message({ message, compared, marking }: { message: EditedMessage; compared: EditedMessage | undefined; marking: boolean }) {
  const lines = useMemo(() => (marking ? diffLines(compared?.text ?? "", message.text) : null), [marking, compared?.text, message.text]);
  const added = lines?.filter((l) => l.kind === "add").length ?? 0;
  const removed = lines?.filter((l) => l.kind === "del").length ?? 0;
  if (message.placeholder !== null) {
    return (
      <p className="px-3 py-1 text-12 text-ink-3">
        Messages of <span className="font-mono text-violet">{message.placeholder}</span>
      </p>
    );
  }
  return (
    <div className="pb-2">
      <div className="flex items-center justify-between px-3 pb-0.5">
        <h3 className="text-12 font-medium text-ink-2">{roleName(message.role)}</h3>
        {added + removed > 0 && (
          <span className="num text-11 font-medium text-green">
            +{added} −{removed} lines vs A
          </span>
        )}
      </div>
      <div className="font-mono text-12/5 break-words whitespace-pre-wrap">
        {lines === null ? (
          <div className="px-3">
            <TemplateText text={message.text} />
          </div>
        ) : (
          lines
            .filter((l) => l.kind !== "del")
            .map((line, i) => (
              <div
                // biome-ignore lint/suspicious/noArrayIndexKey: lines repeat, and their order is their identity.
                key={i}
                className={cn("min-h-5 px-3", line.kind === "add" && "bg-diff-add shadow-[inset_2px_0_var(--green-solid)]")}
              >
                <TemplateText text={line.text} />
              </div>
            ))
        )}
      </div>
      <Images images={message.images} />
    </div>
  );
}
