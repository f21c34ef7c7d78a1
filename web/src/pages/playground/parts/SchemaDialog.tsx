import { useState } from "react";
import { Button } from "@/components/Button";
import { CodeEditor } from "@/components/CodeEditor";
import { Dialog } from "@/components/Dialog";
import { readFormat } from "../setup/tools";
import { useEdit, useEditor } from "../state";
import { useColumns } from "../useColumns";
import { ColumnChoice } from "./ColumnChoice";

const example = {
  title: "answer",
  type: "object",
  properties: { answer: { type: "string" }, confident: { type: "boolean" } },
  required: ["answer", "confident"],
  additionalProperties: false,
};

/** The response format of the columns: a JSON Schema, or the format as a call has it. */
export function SchemaDialog({ onClose }: { onClose: () => void }) {
  const edit = useEdit();
  const columns = useEditor((e) => e.columns);
  const { effective } = useColumns();
  const first = effective.find((e) => e.responseFormat !== null)?.responseFormat ?? null;
  const [text, setText] = useState(() => JSON.stringify(first ?? example, null, 2));
  const [chosen, setChosen] = useState<readonly number[]>(() => {
    const same = effective.flatMap((e, at) => (first !== null && JSON.stringify(e.responseFormat) === JSON.stringify(first) ? [at] : []));
    return same.length > 0 ? same : columns.map((_, at) => at);
  });
  const read = readFormat(text);
  const problem = "problem" in read ? read.problem : null;
  const save = (format: unknown) => {
    edit((e) => ({ ...e, columns: e.columns.map((c, at) => (chosen.includes(at) ? { ...c, responseFormat: format } : c)) }));
    onClose();
  };
  return (
    <Dialog
      open
      wide
      onOpenChange={(open) => !open && onClose()}
      title="Response schema"
      description="Outputs are checked against the schema. Models that can are held to it."
      footer={
        <>
          {first !== null && (
            <Button look="danger" className="mr-auto" onClick={() => save(null)}>
              Remove schema
            </Button>
          )}
          <Button onClick={onClose}>Cancel</Button>
          <Button look="accent" disabled={problem !== null || chosen.length === 0} onClick={() => "format" in read && save(read.format)}>
            Use schema
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3 pb-3">
        <CodeEditor label="Response schema" text={text} height={280} onChange={setText} />
        {problem && (
          <p role="alert" className="text-12 text-red">
            {problem}
          </p>
        )}
        <ColumnChoice chosen={chosen} onChange={setChosen} />
      </div>
    </Dialog>
  );
}
