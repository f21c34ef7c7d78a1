import { Field as Base } from "@base-ui/react/field";
import type { ComponentProps, ReactNode } from "react";
import { cn } from "./cn";

export const inputLook =
  "w-full rounded-control border border-control bg-surface px-2.5 text-13 text-ink disabled:opacity-60 data-[invalid]:border-red-solid focus-visible:outline-2 focus-visible:outline-offset-0 focus-visible:outline-focus";

export interface FieldProps {
  label: ReactNode;
  hint?: ReactNode;
  error?: string | null | undefined;
  children: ReactNode;
  className?: string;
}

/** A labelled control with its hint and its error. Base UI connects them for screen readers. */
export function Field({ label, hint, error, children, className }: FieldProps) {
  return (
    <Base.Root className={cn("flex flex-col gap-1", className)} invalid={Boolean(error)}>
      <Base.Label className="text-12 font-medium text-ink-2">{label}</Base.Label>
      {children}
      {hint && !error && <Base.Description className="text-12 text-ink-3">{hint}</Base.Description>}
      {error && (
        <Base.Error match className="text-12 text-red">
          {error}
        </Base.Error>
      )}
    </Base.Root>
  );
}

export type InputProps = ComponentProps<typeof Base.Control> & { mono?: boolean };

/** A text input inside a Field. */
export function Input({ mono, className, ...rest }: InputProps) {
  return <Base.Control className={cn(inputLook, "h-[30px]", mono && "font-mono text-12", className as string)} {...rest} />;
}

/** A text area inside a Field. */
export function TextArea({ mono, className, rows = 4, ...rest }: ComponentProps<"textarea"> & { mono?: boolean }) {
  return (
    <Base.Control
      render={<textarea rows={rows} className={cn(inputLook, "py-1.5", mono && "font-mono text-12/5", className)} {...rest} />}
    />
  );
}
