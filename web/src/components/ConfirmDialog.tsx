import { type ReactNode, useState } from "react";
import { type CurlCall, curlOf } from "@/api";
import { Button } from "./Button";
import { copyText } from "./Copy";
import { Dialog } from "./Dialog";
import { Field, Input } from "./Field";
import { ErrorPanel } from "./States";

export interface ConfirmDialogProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  /** What it touches, by a dry run of the server: the count, the scope, the cost. */
  effect: ReactNode;
  /** Whether it can be undone, and how; or that it cannot. */
  undo: string;
  /** The text to type: for acts that cannot be undone, over 1,000 items, or on a protected label. */
  typed?: string | undefined;
  /** The verb and the noun of the button. */
  action: string;
  danger?: boolean;
  /** The dry run has not answered yet. */
  waiting?: boolean;
  busy?: boolean;
  error?: unknown;
  onConfirm: () => void;
  call?: CurlCall;
}

/** Asks before an act that spends, stops, deletes or is wide. It says the count, the scope and the effect, and stays open until the server answers. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const [text, setText] = useState("");
  const { typed, waiting, busy } = props;
  const ready = !waiting && !busy && (typed === undefined || text.trim() === typed);
  const change = (open: boolean) => {
    setText("");
    props.onOpenChange(open);
  };
  const { call } = props;
  return (
    <Dialog
      open={props.open}
      onOpenChange={change}
      title={props.title}
      footer={
        <>
          {call && (
            <Button look="ghost" className="mr-auto" onClick={() => void copyText(curlOf(call), "Copied as curl")}>
              Copy as curl
            </Button>
          )}
          <Button onClick={() => change(false)}>Keep as it is</Button>
          <Button look={props.danger ? "danger-solid" : "accent"} busy={Boolean(busy)} disabled={!ready} onClick={props.onConfirm}>
            {props.action}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3">
        <div className="text-14">{props.effect}</div>
        <p className="text-ink-2">{props.undo}</p>
        {typed !== undefined && (
          <Field
            label={
              <>
                Type <span className="font-mono text-ink">{typed}</span> to confirm
              </>
            }
          >
            <Input autoComplete="off" spellCheck={false} value={text} onChange={(e) => setText(e.target.value)} />
          </Field>
        )}
        {props.error != null && <ErrorPanel error={props.error} />}
      </div>
    </Dialog>
  );
}

/** Whether an act on so many items needs a typed confirmation, and which: the count. */
export function typedCount(count: number): string | undefined {
  return count > 1000 ? String(count) : undefined;
}
