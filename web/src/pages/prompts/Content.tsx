import { Image as ImageIcon } from "lucide-react";
import type { ReactNode } from "react";
import { JsonView } from "@/components/CodeView";
import { CopyButton } from "@/components/Copy";
import { KeyValue } from "@/components/KeyValue";
import { PromptLink } from "./Names";
import type { Message, Version } from "./prompt";
import { TemplateText } from "./TemplateText";

/** The content of a version: messages, config, schema and included prompts. */
export function VersionContent({ version }: { version: Version }) {
  return (
    <div className="flex flex-col gap-3">
      {version.kind === "text" ? (
        <MessageCard title="text" copy={version.text ?? ""}>
          <TemplateText text={version.text ?? ""} />
        </MessageCard>
      ) : (
        (version.messages ?? []).map((message, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: messages of a version never change their order.
          <MessageView key={i} message={message} />
        ))
      )}
      <Config config={version.config ?? {}} />
      {version.input_schema !== null && (
        <Part title="Input schema">
          <JsonView label="Input schema" value={version.input_schema} maxHeight={320} />
        </Part>
      )}
      {version.references.length > 0 && (
        <Part title="Included prompts">
          <ul>
            {version.references.map((r) => (
              <li key={r.written} className="flex min-h-7 items-center gap-3">
                <PromptLink name={r.name} version={r.version} />
                {r.written !== `${r.name}@${r.version}` && <span className="font-mono text-12 text-ink-3">written as {r.written}</span>}
              </li>
            ))}
          </ul>
        </Part>
      )}
    </div>
  );
}

/** A message with its role. `rendered` texts have no templates any more. */
export function MessageView({ message, rendered = false }: { message: Message; rendered?: boolean }) {
  if (message.placeholder) {
    return (
      <div className="flex items-center gap-2 rounded-card border border-dashed border-line-2 px-3 py-2 text-ink-2">
        Messages of the variable <span className="font-mono text-12 text-violet">{message.placeholder}</span>
      </div>
    );
  }
  const { content = "" } = message;
  const parts = typeof content === "string" ? [{ type: "text", text: content, image_url: null }] : content;
  const text = parts.map((p) => p.text ?? p.image_url?.url ?? "").join("\n");
  return (
    <MessageCard title={message.role ?? ""} note={message.name ?? message.tool_call_id} copy={text}>
      {parts.map((part, i) =>
        part.image_url ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts of a version never change their order.
          <div key={i} className="flex items-center gap-2 py-1">
            <ImageIcon aria-label="Image" className="size-4 shrink-0 text-ink-3" strokeWidth={1.75} />
            <TemplateText text={part.image_url.url.slice(0, 2000)} className="min-w-0 break-all" />
            {part.image_url.detail && <span className="text-12 text-ink-3">{part.image_url.detail}</span>}
          </div>
        ) : rendered ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: see above.
          <div key={i} className="font-mono text-12/5 break-words whitespace-pre-wrap">
            {part.text}
          </div>
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: see above.
          <TemplateText key={i} text={part.text ?? ""} />
        ),
      )}
      {message.tool_calls && message.tool_calls.length > 0 && (
        <div className="pt-2">
          <JsonView label="Tool calls" value={message.tool_calls} maxHeight={200} />
        </div>
      )}
    </MessageCard>
  );
}

function MessageCard({ title, note, copy, children }: { title: string; note?: string | undefined; copy: string; children: ReactNode }) {
  return (
    <div className="overflow-hidden rounded-card border border-line bg-surface">
      <div className="flex h-7 items-center gap-2 border-b border-line bg-sunken pr-1 pl-3">
        <span className="text-12 font-medium">{title}</span>
        {note && <span className="truncate font-mono text-12 text-ink-3">{note}</span>}
        <span className="ml-auto">
          <CopyButton text={copy} label={`Copy the message of the ${title}`} />
        </span>
      </div>
      <div className="px-3 py-2">{children}</div>
    </div>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title}>
      <h3 className="mb-1 text-12 font-medium text-ink-2">{title}</h3>
      {children}
    </section>
  );
}

/** Simple settings in rows; tools and the form of the answer as JSON. */
export function Config({ config }: { config: Record<string, unknown> }) {
  const simple = Object.entries(config).filter(([, value]) => typeof value !== "object");
  const rich = Object.entries(config).filter(([, value]) => typeof value === "object");
  if (simple.length + rich.length === 0) return null;
  return (
    <Part title="Config">
      {simple.length > 0 && (
        <KeyValue facts={simple.map(([name, value]) => ({ name, value: <span className="font-mono text-12">{String(value)}</span> }))} />
      )}
      {rich.map(([name, value]) => (
        <div key={name} className="mt-2">
          <p className="mb-1 font-mono text-12 text-ink-3">{name}</p>
          <JsonView label={name} value={value} maxHeight={320} />
        </div>
      ))}
    </Part>
  );
}
