import { AlertTriangle, MoreHorizontal, Pencil, RotateCcw, Trash2 } from "lucide-react";
import { useState } from "react";
import type { Schemas } from "@/api";
import { Button, IconButton } from "@/components/Button";
import { Card } from "@/components/Card";
import { CodeEditor } from "@/components/CodeEditor";
import { Dialog } from "@/components/Dialog";
import { Field, Input } from "@/components/Field";
import { Menu, MenuItem } from "@/components/Menu";
import { Select } from "@/components/Select";
import { plural } from "@/format";

type Problem = Schemas["Problem"];

/** The choice of the scenario that the server writes from the present configuration and load. */
export const presentChoice = "";

export interface ScenarioCardProps {
  name: string;
  names: readonly string[];
  text: string;
  problems: readonly Problem[];
  onChoose: (name: string) => void;
  onEdit: (text: string) => void;
  onRename: (name: string) => void;
  onDelete: () => void;
  onReload: () => void;
}

/** The text of the scenario, with its name and the problems that the server found. */
export function ScenarioCard(props: ScenarioCardProps) {
  const { name, names, text, problems } = props;
  const [shown, setShown] = useState<{ line: number }>();
  const [renaming, setRenaming] = useState(false);
  return (
    <Card
      title="Scenario"
      note={name === presentChoice ? undefined : "kept in this browser"}
      aside={
        <>
          <Select
            small
            label="Scenario"
            value={name}
            choices={[{ value: presentChoice, label: "Present load" }, ...names.map((n) => ({ value: n, label: n }))]}
            onChange={props.onChoose}
            className="max-w-48 whitespace-nowrap"
          />
          <Menu trigger={<IconButton small icon={MoreHorizontal} label="More" />}>
            <MenuItem icon={RotateCcw} onSelect={props.onReload}>
              Read the present load again
            </MenuItem>
            <MenuItem icon={Pencil} disabled={name === presentChoice} onSelect={() => setRenaming(true)}>
              Rename scenario…
            </MenuItem>
            <MenuItem icon={Trash2} danger disabled={name === presentChoice} onSelect={props.onDelete}>
              Delete scenario
            </MenuItem>
          </Menu>
        </>
      }
    >
      <div className="p-3.5">
        <CodeEditor
          label="Scenario, as YAML"
          text={text}
          language="text"
          height={600}
          onChange={props.onEdit}
          problems={problems}
          shown={shown}
        />
        {problems.length > 0 && <Problems problems={problems} onShow={(line) => setShown({ line })} />}
      </div>
      {renaming && <Rename name={name} taken={names} onClose={() => setRenaming(false)} onRename={props.onRename} />}
    </Card>
  );
}

function Problems({ problems, onShow }: { problems: readonly Problem[]; onShow: (line: number) => void }) {
  return (
    <div role="alert" className="mt-3 rounded-card border border-red-line bg-red-tint p-3">
      <p className="flex items-center gap-2 font-medium text-red">
        <AlertTriangle aria-hidden className="size-4" strokeWidth={1.75} />
        The scenario has {plural(problems.length, "problem")}.
      </p>
      <ul className="mt-1 flex flex-col gap-1">
        {problems.map((p) => (
          <li key={`${p.path} ${p.line} ${p.message}`} className="text-ink">
            {p.line > 0 && (
              <button type="button" onClick={() => onShow(p.line)} className="mr-2 font-medium text-accent hover:underline">
                Line {p.line}
              </button>
            )}
            {p.path && <code className="mr-1.5 font-mono text-12">{p.path}</code>}
            {p.message}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Rename(props: { name: string; taken: readonly string[]; onClose: () => void; onRename: (name: string) => void }) {
  const [next, setNext] = useState(props.name);
  const name = next.trim();
  const taken = name !== props.name && props.taken.includes(name);
  const save = () => {
    if (name === "" || taken) return;
    if (name !== props.name) props.onRename(name);
    props.onClose();
  };
  return (
    <Dialog
      open
      onOpenChange={props.onClose}
      title="Rename the scenario"
      footer={
        <Button look="accent" disabled={name === "" || taken} onClick={save}>
          Rename scenario
        </Button>
      }
    >
      <Field label="Name" error={taken ? "Another scenario has this name." : null}>
        <Input value={next} maxLength={60} onChange={(e) => setNext(e.target.value)} onKeyDown={(e) => e.key === "Enter" && save()} />
      </Field>
    </Dialog>
  );
}
