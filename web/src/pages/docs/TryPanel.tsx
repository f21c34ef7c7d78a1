import { Send } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/Button";
import { CodeEditor } from "@/components/CodeEditor";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { Field, Input } from "@/components/Field";
import { Select } from "@/components/Select";
import { useShortcuts } from "@/hooks/shortcuts";
import { AnswerPanel } from "./AnswerPanel";
import { addressOf, changes, missingIn, takesForm, type Values } from "./call";
import { FormFields } from "./FormFields";
import type { Operation } from "./spec";
import { useTry } from "./useTry";

export interface TryPanelProps {
  op: Operation;
  version: string | undefined;
  tenants: readonly { id: string; name: string }[];
  tenant: string;
  onTenant: (tenant: string) => void;
  values: Values;
  onValues: (values: Values) => void;
  bodyText: string | undefined;
  onBodyText: (text: string) => void;
}

/** Sends the call with the session of the person. What changes something asks first. */
export function TryPanel(props: TryPanelProps) {
  const { op, values, bodyText, tenant } = props;
  const [form, setForm] = useState<FormData | null>(null);
  const [asking, setAsking] = useState(false);
  const { answer, send, stop } = useTry();
  const overAll = op.path.startsWith("/admin/");
  const missing = missingIn(op, values);
  const broken = bodyText === undefined || takesForm(op) ? null : jsonError(bodyText);
  const ready = missing.length === 0 && broken === null && (!takesForm(op) || form !== null);

  const go = () => {
    setAsking(false);
    const json = bodyText !== undefined && !takesForm(op) && bodyText.trim() !== "";
    const body = takesForm(op) ? (form ?? undefined) : json ? bodyText : undefined;
    send({ op, values, tenant: overAll ? null : tenant, version: props.version, body, json });
  };
  const press = () => (changes(op) ? setAsking(true) : go());
  useShortcuts({ "mod+Enter": () => (ready ? press() : false) });

  return (
    <div className="flex flex-col gap-3">
      {!overAll && props.tenants.length > 0 && (
        <Field label="Tenant">
          <Select
            label="Tenant"
            value={tenant}
            choices={props.tenants.map((t) => ({ value: t.id, label: t.name }))}
            onChange={props.onTenant}
          />
        </Field>
      )}
      <Params op={op} values={values} onValues={props.onValues} />
      {takesForm(op) ? (
        <FormFields op={op} onChange={setForm} />
      ) : (
        bodyText !== undefined && (
          <div className="flex flex-col gap-1">
            <span className="text-12 font-medium text-ink-2">Body</span>
            <CodeEditor label="Body of the call" text={bodyText} height={200} onChange={props.onBodyText} />
            {broken && <p className="text-12 text-red">{broken}</p>}
          </div>
        )
      )}
      <div className="flex flex-wrap items-center gap-2">
        <Button look="accent" icon={Send} disabled={!ready} onClick={press} hint="Ctrl ↵">
          {changes(op) ? "Send call…" : "Send call"}
        </Button>
        {missing.length > 0 && <span className="text-12 text-ink-3">Needs {missing.join(", ")}.</span>}
      </div>
      {answer && <AnswerPanel answer={answer} onStop={stop} />}
      <ConfirmDialog
        open={asking}
        onOpenChange={setAsking}
        title="Send this call?"
        danger={op.method === "DELETE"}
        action="Send call"
        effect={
          <>
            <p className="font-mono text-12 break-all">
              {op.method} {addressOf(op, values)}
            </p>
            <p className="mt-2 text-13">{op.summary}.</p>
            <p className="mt-2 text-13">
              It is sent to the real server with your session{overAll ? "" : `, in the tenant ${tenant}`}. It may change data, and calls of
              models cost money.
            </p>
          </>
        }
        undo="The reference cannot undo a call. The server audits changes with your name."
        onConfirm={go}
      />
    </div>
  );
}

function Params({ op, values, onValues }: { op: Operation; values: Values; onValues: (values: Values) => void }) {
  const [all, setAll] = useState(false);
  const params = op.parameters ?? [];
  const shown = params.filter((p) => all || p.required || values[p.name] || p.in === "query");
  const hidden = params.length - shown.length;
  return (
    <>
      {shown.map((p) => (
        <Field key={`${p.in}-${p.name}`} label={p.required ? `${p.name} (required)` : p.name}>
          <Input
            mono
            autoComplete="off"
            spellCheck={false}
            value={values[p.name] ?? ""}
            onChange={(e) => onValues({ ...values, [p.name]: e.target.value })}
          />
        </Field>
      ))}
      {hidden > 0 && (
        <Button small look="ghost" className="self-start" onClick={() => setAll(true)}>
          Show {hidden} {hidden === 1 ? "header" : "headers"}
        </Button>
      )}
    </>
  );
}

function jsonError(text: string): string | null {
  if (text.trim() === "") return null;
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return `The body is not JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}
