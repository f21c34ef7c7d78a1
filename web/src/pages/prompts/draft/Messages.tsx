import { ArrowDown, ArrowUp, Braces, Image as ImageIcon, ListPlus, Plus, Trash2, Type } from "lucide-react";
import type { SharedDraft } from "@/collab";
import { Button, IconButton } from "@/components/Button";
import { CodeEditor } from "@/components/CodeEditor";
import { Field, Input } from "@/components/Field";
import { Menu, MenuItem } from "@/components/Menu";
import { Select } from "@/components/Select";
import { emptyMessage, type FormMessage, type MessageRole, moved, newId, type Part, type PlacedProblem, roles, within } from "./form";
import { MessageText } from "./MessageText";

export interface MessagesProps {
  messages: readonly FormMessage[];
  onChange: (edit: (old: FormMessage[]) => FormMessage[]) => void;
  problems: readonly PlacedProblem[];
  /** The draft as others edit it too; null while nobody can. */
  shared: SharedDraft | null;
}

/** The messages of a chat prompt: add, move, remove, and edit each. */
export function Messages({ messages, onChange, problems, shared }: MessagesProps) {
  const edit = (id: string, change: (old: FormMessage) => FormMessage) => onChange((all) => all.map((m) => (m.id === id ? change(m) : m)));
  const add = (role: FormMessage["role"]) => onChange((all) => [...all, emptyMessage(role)]);
  return (
    <div className="flex flex-col gap-3">
      {messages.map((message, i) => (
        <MessageForm
          key={message.id}
          message={message}
          place={i}
          last={i === messages.length - 1}
          shared={shared}
          problems={within(problems, `messages[${i}]`)}
          onChange={(change) => edit(message.id, change)}
          onMove={(by) => onChange((all) => moved(all, i, by))}
          onRemove={() => onChange((all) => all.filter((m) => m.id !== message.id))}
        />
      ))}
      <div className="flex flex-wrap gap-2">
        <Button small icon={Plus} onClick={() => add(messages.at(-1)?.role === "user" ? "assistant" : "user")}>
          Add message
        </Button>
        <Button small icon={ListPlus} onClick={() => add("placeholder")}>
          Add placeholder
        </Button>
      </div>
    </div>
  );
}

const roleChoices = [...roles, "placeholder" as const].map((role) => ({ value: role, label: role }));

interface MessageFormProps {
  message: FormMessage;
  place: number;
  last: boolean;
  problems: readonly PlacedProblem[];
  shared: SharedDraft | null;
  onChange: (change: (old: FormMessage) => FormMessage) => void;
  onMove: (by: -1 | 1) => void;
  onRemove: () => void;
}

function MessageForm({ message, place, last, problems, shared, onChange, onMove, onRemove }: MessageFormProps) {
  const n = place + 1;
  const set = (change: Partial<FormMessage>) => onChange((old) => ({ ...old, ...change }));
  return (
    <section aria-label={`Message ${n}`} className="overflow-hidden rounded-card border border-control bg-surface">
      <div className="flex h-9 items-center gap-1 border-b border-line bg-sunken px-2">
        <Select
          small
          label={`Role of message ${n}`}
          value={message.role}
          choices={roleChoices}
          onChange={(role) => set({ role, ...(role === "placeholder" && !message.variable ? { variable: "history" } : {}) })}
        />
        <span className="ml-auto" />
        {message.role !== "placeholder" && <AddMenu message={message} n={n} onChange={onChange} />}
        <IconButton small icon={ArrowUp} label={`Move message ${n} up`} disabled={place === 0} onClick={() => onMove(-1)} />
        <IconButton small icon={ArrowDown} label={`Move message ${n} down`} disabled={last} onClick={() => onMove(1)} />
        <IconButton small icon={Trash2} label={`Remove message ${n}`} onClick={onRemove} />
      </div>
      {message.role === "placeholder" ? (
        <div className="p-3">
          <Field label="Variable with the messages" hint="A list of messages, such as the conversation so far.">
            <Input mono value={message.variable} onChange={(e) => set({ variable: e.target.value.trim() })} />
          </Field>
        </div>
      ) : (
        <>
          {message.parts.map((part, i) => (
            <PartForm
              key={part.id}
              part={part}
              shared={shared}
              label={message.parts.length === 1 ? `Text of message ${n}` : `Part ${i + 1} of message ${n}`}
              problems={message.parts.length === 1 && !message.listed ? problems : within(problems, `messages[${place}].content[${i}]`)}
              onChange={(next) => set({ parts: message.parts.map((p) => (p.id === part.id ? next : p)) })}
              {...(message.parts.length > 1
                ? { onRemove: () => onChange((old) => ({ ...old, parts: old.parts.filter((p) => p.id !== part.id) })) }
                : {})}
            />
          ))}
          <More message={message} n={n} set={set} />
        </>
      )}
      <ProblemTexts problems={problems} />
    </section>
  );
}

/** Images, more texts, and calls of tools. */
function AddMenu({ message, n, onChange }: { message: FormMessage; n: number; onChange: MessageFormProps["onChange"] }) {
  const add = (part: Part) => onChange((old) => ({ ...old, listed: true, parts: [...old.parts, part] }));
  return (
    <Menu trigger={<IconButton small icon={Plus} label={`Add to message ${n}`} />}>
      <MenuItem icon={Type} onSelect={() => add({ id: newId(), type: "text", text: "", shared: null })}>
        Text
      </MenuItem>
      <MenuItem
        icon={ImageIcon}
        disabled={message.role !== "user"}
        onSelect={() => add({ id: newId(), type: "image", url: "", detail: "" })}
      >
        Image
      </MenuItem>
      <MenuItem
        icon={Braces}
        disabled={message.role !== "assistant" || message.toolCalls !== ""}
        onSelect={() => onChange((old) => ({ ...old, toolCalls: sampleCalls }))}
      >
        Tool calls
      </MenuItem>
    </Menu>
  );
}

const sampleCalls = JSON.stringify([{ id: "call_1", type: "function", function: { name: "", arguments: "{}" } }], null, 2);

const details = ["", "auto", "low", "high"].map((value) => ({ value, label: value || "detail" }));

function PartForm(props: {
  part: Part;
  shared: SharedDraft | null;
  label: string;
  problems: readonly PlacedProblem[];
  onChange: (part: Part) => void;
  onRemove?: () => void;
}) {
  const { part, shared, label, problems, onChange, onRemove } = props;
  const remove = onRemove && <IconButton small icon={Trash2} label={`Remove: ${label}`} onClick={onRemove} />;
  if (part.type === "image") {
    return (
      <div className="flex items-center gap-2 border-t border-line p-2">
        <ImageIcon aria-hidden className="size-4 shrink-0 text-ink-3" strokeWidth={1.75} />
        <Input
          mono
          aria-label={label}
          placeholder="https://… or {{photo}}"
          value={part.url}
          onChange={(e) => onChange({ ...part, url: e.target.value })}
        />
        <Select label={`Detail: ${label}`} value={part.detail} choices={details} onChange={(detail) => onChange({ ...part, detail })} />
        {remove}
      </div>
    );
  }
  return (
    <div className="relative border-t border-line first:border-t-0">
      <MessageText label={label} part={part} shared={shared} onChange={(text) => onChange({ ...part, text })} problems={problems} />
      {remove && <span className="absolute top-1 right-1">{remove}</span>}
    </div>
  );
}

/** The rarer members of a message: a name, calls of tools, and the call that a result belongs to. */
function More({ message, n, set }: { message: FormMessage; n: number; set: (change: Partial<FormMessage>) => void }) {
  const role: MessageRole | "placeholder" = message.role;
  return (
    <>
      {role === "assistant" && message.toolCalls !== "" && (
        <div className="border-t border-line p-2">
          <p className="mb-1 text-12 font-medium text-ink-2">Tool calls</p>
          <CodeEditor
            label={`Tool calls of message ${n}`}
            text={message.toolCalls}
            height={120}
            onChange={(text) => set({ toolCalls: text })}
          />
        </div>
      )}
      {(role === "tool" || message.name !== "") && (
        <div className="flex flex-wrap gap-3 border-t border-line p-2">
          {role === "tool" && (
            <Field label="Tool call id" className="min-w-40 flex-1">
              <Input mono value={message.toolCallId} onChange={(e) => set({ toolCallId: e.target.value })} />
            </Field>
          )}
          {message.name !== "" && (
            <Field label="Name" className="min-w-40 flex-1">
              <Input mono value={message.name} onChange={(e) => set({ name: e.target.value })} />
            </Field>
          )}
        </div>
      )}
    </>
  );
}

/** Problems beside their place. */
export function ProblemTexts({ problems }: { problems: readonly PlacedProblem[] }) {
  if (problems.length === 0) return null;
  return (
    <div aria-live="polite" className="border-t border-red-line bg-red-tint px-3 py-1.5 text-12 text-red">
      {problems.map((p) => (
        <p key={p.place + p.message} className="break-words">
          {p.message}
        </p>
      ))}
    </div>
  );
}
