import { Braces, ChevronDown, Plus, Wrench } from "lucide-react";
import { type ReactNode, useState } from "react";
import { IconButton } from "@/components/Button";
import { Chip } from "@/components/Chip";
import { cn } from "@/components/cn";
import { plural } from "@/format";
import { useMedia, useNarrow } from "@/hooks/media";
import type { Shown } from "../Dialogs";
import { RecentRuns } from "../history/RecentRuns";
import { letters } from "../setup/editor";
import { formatName, toolsOf } from "../setup/tools";
import { useEditor, usePlayground } from "../state";
import { useColumns } from "../useColumns";
import type { Session } from "../useSession";
import { VariablesForm } from "./VariablesForm";

/** What the columns share: variables, tools, response schema, and the last runs. Under 1100 px it folds above the columns. */
export function SetupPane({ session, onDialog }: { session: Session | null; onDialog: (dialog: Shown) => void }) {
  const above = useMedia("(max-width: 1099.9px)");
  const narrow = useNarrow();
  const [open, setOpen] = useState(!narrow);
  const rows = useEditor((e) => e.rows.length);
  const { fields } = useColumns();
  return (
    <aside
      aria-label="Setup"
      className="shrink-0 border-line bg-sunken max-lg:border-b lg:w-[264px] lg:overflow-y-auto lg:border-r xl:w-[280px]"
    >
      {above && (
        <button
          type="button"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
          className="flex h-9 w-full items-center gap-2 px-4 text-left font-medium"
        >
          <ChevronDown aria-hidden className={cn("size-4 text-ink-3", !open && "-rotate-90")} strokeWidth={1.75} />
          Variables, tools, schema
          <span className="num ml-auto text-12 font-normal text-ink-3">
            {plural(fields.length, "variable")}, {plural(rows, "row")}
          </span>
        </button>
      )}
      {(!above || open) && (
        <div className="md:max-lg:grid md:max-lg:grid-cols-2">
          <VariablesForm onDialog={onDialog} />
          <div>
            <Tools onDialog={onDialog} />
            <Schema onDialog={onDialog} />
            {session && <RecentRuns session={session} />}
          </div>
        </div>
      )}
    </aside>
  );
}

export function PaneBlock({ title, note, action, children }: { title: string; note?: ReactNode; action?: ReactNode; children: ReactNode }) {
  return (
    <section className="border-b border-line px-4 py-3 last:border-b-0">
      <div className="mb-1.5 flex min-h-6 items-center gap-2">
        <h2 className="text-13 font-semibold">{title}</h2>
        <span className="ml-auto flex items-center gap-1 text-12 text-ink-3">
          {note}
          {action}
        </span>
      </div>
      {children}
    </section>
  );
}

/** The columns that something belongs to; nothing where it belongs to all. */
export function OfColumns({ columns }: { columns: readonly number[] }) {
  const count = useEditor((e) => e.columns.length);
  if (columns.length === count) return null;
  return <span className="text-11 text-ink-3">{columns.map((at) => letters[at]).join(" ")}</span>;
}

function Tools({ onDialog }: { onDialog: (dialog: Shown) => void }) {
  const { readOnly } = usePlayground();
  const columns = useEditor((e) => e.columns);
  const { effective } = useColumns();
  const tools = toolsOf(columns, effective);
  const add = !readOnly && <IconButton small icon={Plus} label="Add a tool" onClick={() => onDialog({ kind: "tool", name: null })} />;
  return (
    <PaneBlock title="Tools" action={add}>
      {tools.length === 0 && (
        <p className="text-12 text-ink-3">The model can call tools. Their results are simulated: nothing is really called.</p>
      )}
      <ul className="-mx-2 flex flex-col">
        {tools.map((tool) => (
          <li key={tool.name}>
            <button
              type="button"
              disabled={readOnly}
              onClick={() => onDialog({ kind: "tool", name: tool.name })}
              className="flex h-7 w-full items-center gap-2 rounded-control px-2 text-left hover:bg-hover"
            >
              <Wrench aria-hidden className="size-3.5 shrink-0 text-ink-3" strokeWidth={1.75} />
              <span className="min-w-0 flex-1 truncate font-mono text-12">{tool.name}</span>
              <OfColumns columns={tool.columns} />
              <Chip hue={tool.result === null ? "slate" : "green"}>{tool.result === null ? "no result" : "simulated"}</Chip>
            </button>
          </li>
        ))}
      </ul>
    </PaneBlock>
  );
}

function Schema({ onDialog }: { onDialog: (dialog: Shown) => void }) {
  const { readOnly } = usePlayground();
  const { effective } = useColumns();
  const names = effective.map((e) => formatName(e.responseFormat));
  const found = [...new Set(names.filter((n) => n !== null))].map((name) => ({
    name,
    columns: names.flatMap((n, at) => (n === name ? [at] : [])),
  }));
  const change = !readOnly && (
    <IconButton
      small
      icon={found.length === 0 ? Plus : Braces}
      label="Set the response schema"
      onClick={() => onDialog({ kind: "schema" })}
    />
  );
  return (
    <PaneBlock title="Response schema" action={change}>
      {found.length === 0 ? (
        <p className="text-12 text-ink-3">None: the model answers with any text.</p>
      ) : (
        <ul>
          {found.map((f) => (
            <li key={f.name} className="flex h-7 items-center gap-2">
              <Braces aria-hidden className="size-3.5 shrink-0 text-ink-3" strokeWidth={1.75} />
              <span className="min-w-0 flex-1 truncate font-mono text-12">{f.name}</span>
              <OfColumns columns={f.columns} />
            </li>
          ))}
        </ul>
      )}
    </PaneBlock>
  );
}
