import { type ComponentProps, createContext, type ReactNode, use, useId } from "react";
import { cn } from "./cn";

export const inputLook =
  "w-full rounded-control border border-control bg-surface px-2.5 text-13 text-ink disabled:opacity-60 aria-[invalid]:border-red-solid focus-visible:outline-2 focus-visible:outline-offset-0 focus-visible:outline-focus";

/** What connects the control of a Field with its label, its hint and its error, for screen readers. */
interface Connection {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": true | undefined;
}

const FieldContext = createContext<Connection | null>(null);

/** The attributes of the control inside a Field; none outside of one. */
export function useFieldControl(): Partial<Connection> {
  return use(FieldContext) ?? {};
}

export interface FieldProps {
  label: ReactNode;
  hint?: ReactNode;
  error?: string | null | undefined;
  /** The control. One of Input, TextArea and Select is connected with the label. */
  children: ReactNode;
  className?: string;
}

/** A labelled control with its hint and its error. */
export function Field({ label, hint, error, children, className }: FieldProps) {
  const id = useId();
  const noteId = `${id}-note`;
  const noted = Boolean(error) || Boolean(hint);
  return (
    <div className={cn("flex flex-col gap-1", className)}>
      <label htmlFor={id} className="text-12 font-medium text-ink-2">
        {label}
      </label>
      <FieldContext value={{ id, "aria-describedby": noted ? noteId : undefined, "aria-invalid": error ? true : undefined }}>
        {children}
      </FieldContext>
      {noted && (
        <p id={noteId} aria-live={error ? "polite" : undefined} className={cn("text-12", error ? "text-red" : "text-ink-3")}>
          {error || hint}
        </p>
      )}
    </div>
  );
}

export type InputProps = ComponentProps<"input"> & { mono?: boolean };

/** A text input, in a Field or with an aria-label. */
export function Input({ mono, className, ...rest }: InputProps) {
  return <input {...useFieldControl()} className={cn(inputLook, "h-[30px]", mono && "font-mono text-12", className)} {...rest} />;
}

/** A text area, in a Field or with an aria-label. */
export function TextArea({ mono, className, rows = 4, ...rest }: ComponentProps<"textarea"> & { mono?: boolean }) {
  return (
    <textarea {...useFieldControl()} rows={rows} className={cn(inputLook, "py-1.5", mono && "font-mono text-12/5", className)} {...rest} />
  );
}
