import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useId, useState } from "react";
import { read } from "@/api";
import { Button } from "@/components/Button";
import { CodeEditor } from "@/components/CodeEditor";
import { Field, Input } from "@/components/Field";
import { useOneTenant } from "@/routes";
import { type ConfigForm, type NumberSetting, numberSettings, type PlacedProblem, within } from "./form";

export interface SettingsProps {
  config: ConfigForm;
  onChange: (edit: (old: ConfigForm) => ConfigForm) => void;
  problems: readonly PlacedProblem[];
}

const names: Record<NumberSetting, { label: string; hint: string }> = {
  temperature: { label: "Temperature", hint: "0 to 2" },
  top_p: { label: "Top p", hint: "0 to 1" },
  max_tokens: { label: "Max tokens", hint: "of the answer" },
};

/** The config of the prompt: model, parameters, tools and the form of the answer. */
export function Settings({ config, onChange, problems }: SettingsProps) {
  const tenant = useOneTenant();
  const models = useQuery(read(tenant, "/v1/model_definitions")).data?.data ?? [];
  const list = useId();
  const set = (change: Partial<ConfigForm>) => onChange((old) => ({ ...old, ...change }));
  const error = (place: string) => within(problems, place)[0]?.message;
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap gap-3">
        <Field label="Model" hint="Callers can name another one." error={error("config.model")} className="min-w-48 flex-1">
          <Input mono list={list} value={config.model} onChange={(e) => set({ model: e.target.value })} />
        </Field>
        <datalist id={list}>
          {models.map((m) => (
            <option key={m.name} value={m.name} />
          ))}
        </datalist>
        {numberSettings.map((name) => (
          <Field key={name} label={names[name].label} hint={names[name].hint} error={error(`config.${name}`)} className="w-28">
            <Input
              inputMode="decimal"
              value={config.numbers[name]}
              onChange={(e) => onChange((old) => ({ ...old, numbers: { ...old.numbers, [name]: e.target.value } }))}
            />
          </Field>
        ))}
      </div>
      <JsonField
        title="Tools"
        about="A list of functions that the model may call."
        sample={sampleTools}
        text={config.tools}
        error={error("config.tools")}
        onChange={(tools) => set({ tools })}
      />
      <JsonField
        title="Response format"
        about="The form of the answer, such as a JSON Schema."
        sample={sampleFormat}
        text={config.responseFormat}
        error={error("config.response_format")}
        onChange={(responseFormat) => set({ responseFormat })}
      />
      <JsonField
        title="Other settings"
        about="More members of a chat completion: stop, seed, reasoning_effort."
        sample={'{\n  "seed": 1\n}'}
        text={config.other}
        error={otherError(problems)}
        onChange={(other) => set({ other })}
      />
    </div>
  );
}

/** The problem of a setting that has no field of its own. */
function otherError(problems: readonly PlacedProblem[]): string | undefined {
  const own = ["config.model", "config.tools", "config.response_format", ...numberSettings.map((n) => `config.${n}`)];
  return within(problems, "config").find((p) => !own.some((place) => within([p], place).length > 0))?.message;
}

const sampleTools = JSON.stringify(
  [
    {
      type: "function",
      function: {
        name: "find_order",
        description: "Finds an order by its number.",
        parameters: { type: "object", properties: { number: { type: "string" } }, required: ["number"] },
      },
    },
  ],
  null,
  2,
);

const sampleFormat = JSON.stringify(
  {
    type: "json_schema",
    json_schema: { name: "answer", schema: { type: "object", properties: { answer: { type: "string" } }, required: ["answer"] } },
  },
  null,
  2,
);

interface JsonFieldProps {
  title: string;
  about: ReactNode;
  /** The text that Add begins with. */
  sample: string;
  text: string;
  error: string | undefined;
  onChange: (text: string) => void;
}

/** A part of the prompt as JSON. Without a text it is one line with a button. */
export function JsonField({ title, about, sample, text, error, onChange }: JsonFieldProps) {
  const [open, setOpen] = useState(text !== "");
  const shown = open || text !== "";
  return (
    <section aria-label={title}>
      <div className="flex min-h-7 items-center gap-2">
        <h3 className="text-12 font-medium text-ink-2">{title}</h3>
        <span className="min-w-0 flex-1 truncate text-12 text-ink-3">{about}</span>
        {shown ? (
          <Button
            small
            look="ghost"
            onClick={() => {
              setOpen(false);
              onChange("");
            }}
          >
            Remove {title.toLowerCase()}
          </Button>
        ) : (
          <Button
            small
            onClick={() => {
              setOpen(true);
              onChange(sample);
            }}
          >
            Add {title.toLowerCase()}
          </Button>
        )}
      </div>
      {shown && <CodeEditor label={title} text={text} height={160} onChange={onChange} />}
      {error && (
        <p aria-live="polite" className="mt-1 text-12 break-words text-red">
          {error}
        </p>
      )}
    </section>
  );
}
