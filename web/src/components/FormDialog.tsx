import { type FormEvent, type ReactNode, useId } from "react";
import { asApiError, type CurlCall, curlOf } from "@/api";
import { Button } from "./Button";
import { copyText } from "./Copy";
import { Dialog } from "./Dialog";
import { ErrorPanel } from "./States";

export interface FormDialogProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  description?: ReactNode;
  /** The verb and the noun of the button. */
  action: string;
  /** The fields are valid and differ from what the server has. */
  ready: boolean;
  busy: boolean;
  error?: unknown;
  /** Reads the object again, after another person changed it (412). */
  onReload?: () => void;
  onSubmit: () => void;
  call?: CurlCall;
  wide?: boolean;
  children: ReactNode;
}

/** A form above the page. It stays open until the server has answered; ⌘Enter submits. */
export function FormDialog(props: FormDialogProps) {
  const { open, onOpenChange, title, description, action, ready, busy, error, call, wide, children } = props;
  const id = useId();
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    if (ready && !busy) props.onSubmit();
  };
  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      title={title}
      description={description}
      wide={wide ?? false}
      footer={
        <>
          {call && (
            <Button look="ghost" className="mr-auto" onClick={() => void copyText(curlOf(call), "Copied as curl")}>
              Copy as curl
            </Button>
          )}
          <Button onClick={() => onOpenChange(false)}>Cancel</Button>
          <Button look="accent" type="submit" form={id} busy={busy} disabled={!ready}>
            {action}
          </Button>
        </>
      }
    >
      <form
        id={id}
        noValidate
        className="flex flex-col gap-4 pb-2"
        onSubmit={submit}
        onKeyDown={(e) => {
          if (e.key === "Enter" && (e.metaKey || e.ctrlKey)) submit(e);
        }}
      >
        {children}
        {error != null && <SaveError error={error} onReload={props.onReload} />}
      </form>
    </Dialog>
  );
}

/** Why the server did not save. A lost race (412) says that another person was first, and offers the new values. */
function SaveError({ error, onReload }: { error: unknown; onReload: (() => void) | undefined }) {
  if (asApiError(error).status !== 412) return <ErrorPanel error={error} />;
  return (
    <div role="alert" className="flex flex-wrap items-center gap-3 rounded-card border border-amber-line bg-amber-tint p-3">
      <p className="min-w-0 flex-1">
        <span className="font-medium text-amber">Somebody changed this while the form was open.</span> Nothing was saved. Load the new
        values, and make your change again.
      </p>
      {onReload && (
        <Button small onClick={onReload}>
          Load the new values
        </Button>
      )}
    </div>
  );
}
