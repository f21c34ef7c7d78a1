import { Checkbox } from "@/components/Checkbox";
import { Field, Input, TextArea } from "@/components/Field";
import { Select } from "@/components/Select";
import { Segments } from "@/components/Tabs";
import { endpoints, needsOf, needWords, type Question } from "./explain";
import type { ModelSearch } from "./route";

export interface ExplainFormProps {
  question: Question;
  onText: (text: string) => void;
  onChange: (change: Partial<Record<keyof ModelSearch, string | undefined>>) => void;
}

/** The number in a field; undefined for an empty field. */
function digits(text: string): string | undefined {
  return text.replace(/\D/g, "").slice(0, 7).replace(/^0+/, "") || undefined;
}

/** The call: its endpoint, its text or length, and what it needs of a target. */
export function ExplainForm({ question, onText, onChange }: ExplainFormProps) {
  const byTokens = question.tokens !== undefined;
  const possible = needsOf(question.endpoint);
  const chosen = new Set(question.needs);
  return (
    <form className="flex flex-col gap-3 p-3.5" onSubmit={(e) => e.preventDefault()}>
      <Field label="Endpoint">
        <Select
          label="Endpoint"
          value={question.endpoint}
          choices={endpoints.map((e) => ({ value: e, label: e }))}
          onChange={(endpoint) => onChange({ endpoint })}
          className="w-full font-mono text-12"
        />
      </Field>
      <Segments
        label="Input"
        value={byTokens ? "tokens" : "text"}
        tabs={[
          { value: "text", label: "Text" },
          { value: "tokens", label: "Number of tokens" },
        ]}
        onChange={(kind) => onChange({ tokens: kind === "tokens" ? "1000" : undefined })}
      />
      {byTokens ? (
        <Field label="Input tokens" hint="Long inputs show which targets have too small a context.">
          <Input
            inputMode="numeric"
            value={String(question.tokens)}
            onChange={(e) => onChange({ tokens: digits(e.target.value) ?? "1" })}
          />
        </Field>
      ) : (
        <Field label="Message">
          <TextArea rows={3} value={question.text} onChange={(e) => onText(e.target.value)} />
        </Field>
      )}
      <Field label="Most output tokens" hint="Empty: the target's own bound.">
        <Input
          inputMode="numeric"
          value={question.max === undefined ? "" : String(question.max)}
          onChange={(e) => onChange({ max: digits(e.target.value) })}
        />
      </Field>
      {possible.length > 0 && (
        <fieldset className="flex flex-col gap-1">
          <legend className="mb-1 text-12 font-medium text-ink-2">The call needs</legend>
          {possible.map((need) => (
            <Checkbox
              key={need}
              showLabel
              label={needWords[need]}
              checked={chosen.has(need)}
              onChange={(on) => {
                const next = possible.filter((n) => (n === need ? on : chosen.has(n)));
                onChange({ needs: next.join(",") || undefined });
              }}
            />
          ))}
        </fieldset>
      )}
      <p className="text-12 text-ink-3">The regions, budgets and pauses of this tenant count as in a real call.</p>
    </form>
  );
}
