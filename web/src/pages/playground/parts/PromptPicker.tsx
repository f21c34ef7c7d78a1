import { useQuery } from "@tanstack/react-query";
import { ArrowLeft, ChevronDown, FileText, PenLine, SquarePen, Tag } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { read } from "@/api";
import { Picker, type PickerEntry } from "@/components/Picker";
import { Popover } from "@/components/Popover";
import { formatTime } from "@/format";
import { usePreferences } from "@/hooks/preferences";
import { type Column, letters, textSource, withColumn } from "../setup/editor";
import { refWords } from "../setup/prompt";
import { useEdit, usePlayground } from "../state";
import type { PromptRef } from "../types";
import { useColumns } from "../useColumns";

/** The prompt of a column: a saved one by version, label or draft, or text that is not saved. */
export function PromptPicker({ at, column }: { at: number; column: Column }) {
  const { readOnly } = usePlayground();
  const [open, setOpen] = useState(false);
  const name = <PromptName at={at} column={column} />;
  if (readOnly) return <div className="flex min-w-0 flex-1 items-center gap-1.5">{name}</div>;
  return (
    <Popover
      label={`Prompts for column ${letters[at]}`}
      open={open}
      onOpenChange={setOpen}
      className="w-96 max-w-[calc(100vw-2rem)] overflow-hidden p-0!"
      trigger={
        <button
          type="button"
          className="-ml-1 flex h-10 min-w-0 flex-1 items-center gap-1.5 rounded-control px-1.5 text-left hover:bg-hover"
        >
          <span className="sr-only">Prompt of column {letters[at]}:</span>
          {name}
          <ChevronDown aria-hidden className="size-3.5 shrink-0 text-ink-3" strokeWidth={1.75} />
        </button>
      }
    >
      <PromptList at={at} column={column} onDone={() => setOpen(false)} />
    </Popover>
  );
}

/** The name; below it the version and the label that led to it, or that the text is not saved. */
function PromptName({ at, column }: { at: number; column: Column }) {
  const { prompts } = useColumns();
  const { source } = column;
  const name = source.from === "prompt" ? source.ref.name : (source.origin?.name ?? "Text");
  return (
    <span className="flex min-w-0 flex-col">
      <span className="truncate text-13/4 font-medium">{name}</span>
      <span className="truncate text-11/4 text-ink-3">
        {source.from === "text" ? (
          textWords(source.origin)
        ) : (
          <>
            {source.ref.draft ? "draft" : `v${prompts[at]?.version ?? source.ref.version ?? "…"}`}
            {source.ref.label && (
              <>
                {" · "}
                <span className={source.ref.label === "production" ? "font-medium text-green" : "font-medium text-ink-2"}>
                  {source.ref.label}
                </span>
              </>
            )}
          </>
        )}
      </span>
    </span>
  );
}

function textWords(origin: { version: number | null } | null): string {
  if (!origin) return "not saved";
  return origin.version === null ? "edited, from the draft" : `edited, from v${origin.version}`;
}

function PromptList({ at, column, onDone }: { at: number; column: Column; onDone: () => void }) {
  const { tenant } = usePlayground();
  const edit = useEdit();
  const [typed, setTyped] = useState("");
  const [name, setName] = useState<string | null>(null);
  const list = useQuery({
    ...read(tenant, "/v1/prompts", { params: { query: { limit: 100, ...(typed ? { prefix: typed.trim() } : {}) } } }),
  });
  const write = () => {
    edit((e) => withColumn(e, at, { source: textSource() }));
    onDone();
  };
  const use = (ref: PromptRef) => edit((e) => withColumn(e, at, { source: { from: "prompt", ref } }));
  if (name !== null) return <VersionList name={name} column={column} onUse={use} onBack={() => setName(null)} onDone={onDone} />;
  const found = list.data?.data ?? [];
  const entries: PickerEntry[] = [
    ...(typed === "" ? [{ id: "text", title: "Text of your own", icon: PenLine, note: "not saved", run: write }] : []),
    ...found.map((p) => ({
      id: p.name,
      title: p.name,
      icon: FileText,
      note: p.latest === null ? "draft" : `v${p.latest}`,
      checked: column.source.from === "prompt" && column.source.ref.name === p.name,
      run: () => setName(p.name),
    })),
  ];
  const note = list.isPending
    ? "Reading the prompts…"
    : list.error
      ? list.error.message
      : found.length === 0
        ? typed
          ? "No prompt has a name that begins so."
          : "No prompts are saved yet. Write text here, and save it as a prompt from the menu of the column."
        : undefined;
  return (
    <Picker
      label="Prompts"
      placeholder="The beginning of a name…"
      typed={typed}
      onType={setTyped}
      entries={entries}
      note={note}
      onDone={stay}
    />
  );
}

/** A name opens the list of its versions in the same place. */
function stay(): void {}

interface VersionListProps {
  name: string;
  column: Column;
  onUse: (ref: PromptRef) => void;
  onBack: () => void;
  onDone: () => void;
}

function VersionList({ name, column, onUse, onBack, onDone }: VersionListProps) {
  const { tenant } = usePlayground();
  const { zone } = usePreferences();
  const [typed, setTyped] = useState("");
  const prompt = useQuery(read(tenant, "/v1/prompts/{name}", { params: { path: { name } } }));
  const versions = useQuery(read(tenant, "/v1/prompts/{name}/versions", { params: { path: { name }, query: { limit: 100 } } }));
  const now = column.source.from === "prompt" && column.source.ref.name === name ? refWords(column.source.ref) : "";
  const all = [
    ...(prompt.data?.labels ?? []).map((l) => ({ word: l.label, note: `v${l.version}`, icon: Tag, ref: { name, label: l.label } })),
    ...(prompt.data?.draft ? [{ word: "draft", note: "may change", icon: SquarePen, ref: { name, draft: true } }] : []),
    ...(versions.data?.data ?? [])
      .filter((v) => v.deleted_at === null)
      .map((v) => ({
        word: `v${v.version}`,
        note: v.message || formatTime(v.created_at, zone),
        icon: FileText,
        ref: { name, version: v.version },
      })),
  ];
  const entries: PickerEntry[] = all
    .filter((e) => `${e.word} ${e.note}`.toLowerCase().includes(typed.toLowerCase()))
    .map((e) => ({ id: e.word, title: e.word, note: e.note, icon: e.icon, checked: e.word === now, run: () => onUse(e.ref) }));
  const error = prompt.error ?? versions.error;
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    box.current?.querySelector("input")?.focus(); // the list of names had the focus, and is gone
  }, []);
  return (
    <div ref={box}>
      <button
        type="button"
        onClick={onBack}
        className="flex h-9 w-full items-center gap-2 border-b border-line px-3.5 text-left text-12 text-ink-2 hover:bg-hover"
      >
        <ArrowLeft aria-hidden className="size-3.5" strokeWidth={1.75} />
        <span className="sr-only">Back from </span>
        <span className="truncate font-medium text-ink">{name}</span>
      </button>
      <Picker
        label={`Versions of ${name}`}
        placeholder="A version, a label, the draft…"
        typed={typed}
        onType={setTyped}
        entries={entries}
        note={error ? error.message : prompt.isPending ? "Reading the versions…" : entries.length === 0 ? "Nothing fits." : undefined}
        onDone={onDone}
      />
    </div>
  );
}
