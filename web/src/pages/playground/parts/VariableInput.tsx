import { ChevronDown } from "lucide-react";
import { cn } from "@/components/cn";
import { inputLook } from "@/components/Field";
import { textOfValue, type VariableField } from "../setup/variables";

export interface VariableInputProps {
  id: string;
  field: VariableField;
  text: string | undefined;
  problem?: string | undefined;
  /** A run needs a value, and the person has not typed one yet: the field is marked, and says nothing. */
  missing?: boolean;
  readOnly?: boolean;
  onChange: (text: string) => void;
}

/** The control of a variable, by its kind. Text grows with its lines. */
export function VariableInput({ id, field, text, problem, missing, readOnly, onChange }: VariableInputProps) {
  const note = problem ?? field.description;
  const common = {
    id,
    "aria-invalid": problem || missing ? (true as const) : undefined,
    "aria-describedby": note ? `${id}-note` : undefined,
  };
  const look = cn(inputLook, missing && "aria-[invalid]:border-amber-solid!");
  const lines = Math.min(8, Math.max(1, Math.ceil((text ?? "").length / 34), (text ?? "").split("\n").length));
  return (
    <>
      {field.kind === "enum" || field.kind === "boolean" ? (
        <span className="relative flex">
          <select
            {...common}
            disabled={readOnly}
            value={text ?? ""}
            onChange={(e) => onChange(e.target.value)}
            className={cn(look, "select h-[30px] pr-8 hover:bg-hover")}
          >
            <option value="">{field.required ? "Choose…" : "Not set"}</option>
            {(field.kind === "boolean" ? [true, false] : field.values).map((value) => (
              <option key={textOfValue(value)} value={textOfValue(value)}>
                {textOfValue(value)}
              </option>
            ))}
          </select>
          <ChevronDown aria-hidden className="pointer-events-none absolute top-[7px] right-2 size-4 text-ink-3" strokeWidth={1.75} />
        </span>
      ) : field.kind === "number" || field.kind === "integer" ? (
        <input
          {...common}
          readOnly={readOnly}
          inputMode="decimal"
          autoComplete="off"
          value={text ?? ""}
          onChange={(e) => onChange(e.target.value)}
          className={cn(look, "num h-[30px]")}
        />
      ) : (
        <textarea
          {...common}
          readOnly={readOnly}
          rows={field.kind === "json" ? Math.max(2, lines) : lines}
          spellCheck={false}
          value={text ?? ""}
          placeholder={field.kind === "json" ? "JSON" : undefined}
          onChange={(e) => onChange(e.target.value)}
          className={cn(look, "min-h-[30px] resize-none py-1", field.kind === "json" && "font-mono text-12/5")}
        />
      )}
      {note && (
        <p id={`${id}-note`} className={cn("text-11", problem ? "text-red" : "text-ink-3")}>
          {problem ? `${field.name} ${problem}.` : note}
        </p>
      )}
    </>
  );
}
