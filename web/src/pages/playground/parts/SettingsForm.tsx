import { useState } from "react";
import { Button } from "@/components/Button";
import { Field, Input, TextArea } from "@/components/Field";
import { Select } from "@/components/Select";
import { type Column, copySettings, withColumn } from "../setup/editor";
import { type Setting, settings, textOfOthers, textOfSetting, withOthers, withSetting } from "../setup/params";
import { useEdit, useEditor } from "../state";
import { useColumns } from "../useColumns";

/** The settings of a column. An empty field leaves the setting to the prompt, or to the model. */
export function SettingsForm({ at, column }: { at: number; column: Column }) {
  const edit = useEdit();
  const many = useEditor((e) => e.columns.length > 1);
  return (
    <div className="flex max-h-[70vh] flex-col gap-3 overflow-y-auto">
      <div className="grid grid-cols-2 gap-3">
        {settings
          .filter((s) => s.kind !== "list")
          .map((s) => (
            <SettingField key={s.member} at={at} column={column} setting={s} />
          ))}
      </div>
      {settings
        .filter((s) => s.kind === "list")
        .map((s) => (
          <SettingField key={s.member} at={at} column={column} setting={s} />
        ))}
      <Others at={at} column={column} />
      {many && (
        <Button small className="self-start" onClick={() => edit((e) => copySettings(e, at))}>
          Use in all columns
        </Button>
      )}
    </div>
  );
}

function SettingField({ at, column, setting }: { at: number; column: Column; setting: Setting }) {
  const edit = useEdit();
  const { prompts } = useColumns();
  const [text, setText] = useState(() => textOfSetting(setting, column.params));
  const [problem, setProblem] = useState<string | null>(null);
  const ofPrompt = textOfSetting(setting, prompts[at]?.config ?? {});
  const change = (next: string) => {
    setText(next);
    const result = withSetting(setting, column.params, next);
    setProblem("problem" in result ? result.problem : null);
    if ("params" in result) edit((e) => withColumn(e, at, { params: result.params }));
  };
  if (setting.kind === "choice") {
    const choices = [
      { value: "", label: ofPrompt ? `${ofPrompt} (prompt)` : "Not set" },
      ...(setting.choices ?? []).map((c) => ({ value: c, label: c })),
    ];
    return (
      <Field label={setting.label} hint={setting.hint}>
        <Select label={setting.label} value={text} choices={choices} onChange={change} />
      </Field>
    );
  }
  return (
    <Field label={setting.label} hint={setting.hint} error={problem}>
      {setting.kind === "list" ? (
        <TextArea mono rows={2} spellCheck={false} value={text} onChange={(e) => change(e.target.value)} />
      ) : (
        <Input
          inputMode="decimal"
          autoComplete="off"
          value={text}
          placeholder={ofPrompt ? `${ofPrompt} (prompt)` : "Not set"}
          onChange={(e) => change(e.target.value)}
        />
      )}
    </Field>
  );
}

/** Members of a call without a field, as JSON. */
function Others({ at, column }: { at: number; column: Column }) {
  const edit = useEdit();
  const [text, setText] = useState(() => textOfOthers(column.params));
  const [problem, setProblem] = useState<string | null>(null);
  const change = (next: string) => {
    setText(next);
    const result = withOthers(column.params, next);
    setProblem("problem" in result ? result.problem : null);
    if ("params" in result) edit((e) => withColumn(e, at, { params: result.params }));
  };
  return (
    <Field label="Other settings" hint={'JSON, such as {"frequency_penalty": 0.5}'} error={problem}>
      <TextArea mono rows={2} spellCheck={false} value={text} onChange={(e) => change(e.target.value)} />
    </Field>
  );
}
