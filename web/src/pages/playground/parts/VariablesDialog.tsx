import { useState } from "react";
import { Button } from "@/components/Button";
import { CodeEditor } from "@/components/CodeEditor";
import { Dialog } from "@/components/Dialog";
import { letters, withColumn } from "../setup/editor";
import { ownFields } from "../setup/prompt";
import type { VariableField } from "../setup/variables";
import { useEdit, useEditor } from "../state";

/** The JSON Schema of the variables of text. Without one, the templates say which variables there are. */
export function VariablesDialog({ column: at, onClose }: { column: number; onClose: () => void }) {
  const edit = useEdit();
  const source = useEditor((e) => e.columns[at]?.source);
  const content = source?.from === "text" ? source.content : null;
  const [text, setText] = useState(() => JSON.stringify(content?.inputSchema ?? derived(content ? ownFields(content) : []), null, 2));
  const { schema, problem } = readSchema(text);
  const save = (inputSchema: unknown) => {
    if (source?.from === "text") edit((e) => withColumn(e, at, { source: { ...source, content: { ...source.content, inputSchema } } }));
    onClose();
  };
  return (
    <Dialog
      open
      wide
      onOpenChange={(open) => !open && onClose()}
      title={`Variables of column ${letters[at]}`}
      description="A JSON Schema makes the form: types, choices, descriptions, and the variables that may be absent."
      footer={
        <>
          {content?.inputSchema != null && (
            <Button className="mr-auto" onClick={() => save(null)}>
              Derive from the text
            </Button>
          )}
          <Button onClick={onClose}>Cancel</Button>
          <Button look="accent" disabled={problem !== null} onClick={() => save(schema)}>
            Use schema
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-2 pb-3">
        <CodeEditor label="Schema of the variables" text={text} height={300} onChange={setText} />
        {problem && (
          <p role="alert" className="text-12 text-red">
            {problem}
          </p>
        )}
      </div>
    </Dialog>
  );
}

function readSchema(text: string): { schema: unknown; problem: string | null } {
  try {
    const schema = JSON.parse(text) as unknown;
    const wrong = typeof schema !== "object" || schema === null || Array.isArray(schema);
    return { schema, problem: wrong ? "A schema is a JSON object." : null };
  } catch (error) {
    return { schema: null, problem: `It is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** The schema that the templates stand for, to begin with. */
function derived(fields: readonly VariableField[]): unknown {
  return {
    type: "object",
    properties: Object.fromEntries(fields.map((f) => [f.name, f.kind === "string" ? { type: "string" } : {}])),
    required: fields.filter((f) => f.required).map((f) => f.name),
  };
}
