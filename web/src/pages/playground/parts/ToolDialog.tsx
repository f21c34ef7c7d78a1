import { useState } from "react";
import { Button } from "@/components/Button";
import { Checkbox } from "@/components/Checkbox";
import { CodeEditor } from "@/components/CodeEditor";
import { Dialog } from "@/components/Dialog";
import { toast } from "@/components/Toast";
import { readTool, toolsOf, withTool } from "../setup/tools";
import { useEdit, useEditor, usePlayground } from "../state";
import { useColumns } from "../useColumns";
import { ColumnChoice } from "./ColumnChoice";

const example = JSON.stringify(
  {
    name: "get_weather",
    description: "The weather in a city now.",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
  null,
  2,
);

/** The definition of a tool and the result that the playground gives in its place. */
export function ToolDialog({ name, onClose }: { name: string | null; onClose: () => void }) {
  const { editor } = usePlayground();
  const edit = useEdit();
  const columns = useEditor((e) => e.columns);
  const { effective } = useColumns();
  const known = toolsOf(columns, effective).find((t) => t.name === name);
  const [text, setText] = useState(() => (known ? JSON.stringify(known.definition.function, null, 2) : example));
  const [result, setResult] = useState<string | null>(known ? known.result : '{"celsius": 21}');
  const [chosen, setChosen] = useState<readonly number[]>(known?.columns ?? columns.map((_, at) => at));
  const read = readTool(text);
  const problem = "problem" in read ? read.problem : null;
  const save = () => {
    if (!("tool" in read)) return;
    edit((e) => withTool(e, effective, name, { definition: read.tool, result, columns: chosen }));
    onClose();
  };
  const remove = () => {
    const before = editor.get();
    edit((e) => withTool(e, effective, name, null));
    toast("Tool removed", { undo: () => edit(() => before) });
    onClose();
  };
  return (
    <Dialog
      open
      wide
      onOpenChange={(open) => !open && onClose()}
      title={name === null ? "Add a tool" : `Tool ${name}`}
      description="Nothing is really called. The model gets the simulated result, and goes on."
      footer={
        <>
          {name !== null && (
            <Button look="danger" className="mr-auto" onClick={remove}>
              Remove tool
            </Button>
          )}
          <Button onClick={onClose}>Cancel</Button>
          <Button look="accent" disabled={problem !== null || chosen.length === 0} onClick={save}>
            {name === null ? "Add tool" : "Save tool"}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3 pb-3">
        <div className="flex flex-col gap-1">
          <span className="text-12 font-medium text-ink-2">Function: name, description and parameters</span>
          <CodeEditor label="Definition of the tool" text={text} height={200} onChange={setText} />
          {problem && (
            <p role="alert" className="text-12 text-red">
              {problem}
            </p>
          )}
        </div>
        <Checkbox
          label="Simulate its result"
          showLabel
          checked={result !== null}
          onChange={(on) => setResult(on ? (known?.result ?? "{}") : null)}
        />
        {result !== null ? (
          <CodeEditor label="Simulated result" text={result} height={120} onChange={setResult} />
        ) : (
          <p className="text-12 text-ink-3">A call of the tool ends the output, which then shows the call.</p>
        )}
        <ColumnChoice chosen={chosen} onChange={setChosen} />
      </div>
    </Dialog>
  );
}
