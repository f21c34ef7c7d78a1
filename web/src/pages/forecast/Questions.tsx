import { ChevronDown } from "lucide-react";
import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { Field, Input } from "@/components/Field";
import { Menu, MenuCheckItem } from "@/components/Menu";
import { Segments } from "@/components/Tabs";
import type { WhatIf } from "./run";

const loads = ["0.5", "1", "2", "5", "10"] as const;

export interface QuestionsProps {
  value: WhatIf;
  targets: readonly string[];
  /** The slots of the present configuration, as a hint. */
  slots: number | undefined;
  onChange: (value: WhatIf) => void;
}

/** The common questions, asked about any scenario without editing its text. */
export function Questions({ value, targets, slots, onChange }: QuestionsProps) {
  const down = value.down ?? [];
  const load = String(value.load ?? 1);
  const whole = (text: string) => (/^\d{1,6}$/.test(text) ? Number(text) : 0);
  const asked = Object.values(value).some((v) => (Array.isArray(v) ? v.length > 0 : v));
  return (
    <Card
      title="What if"
      note="changes the scenario for one run, not its text"
      aside={
        asked && (
          <Button small look="ghost" onClick={() => onChange({})}>
            Reset
          </Button>
        )
      }
    >
      <div className="flex flex-wrap items-end gap-x-5 gap-y-3 p-3.5">
        <div className="flex flex-col gap-1">
          <span className="text-12 font-medium text-ink-2">Load</span>
          <Segments
            label="Load"
            value={load}
            tabs={loads.map((l) => ({ value: l, label: `×${l}` }))}
            onChange={(l) => onChange({ ...value, load: l === "1" ? 0 : Number(l) })}
          />
        </div>
        <Field label="Slots of each process" className="w-36">
          <Input
            inputMode="numeric"
            placeholder={slots ? String(slots) : "as written"}
            value={value.slots ? String(value.slots) : ""}
            onChange={(e) => onChange({ ...value, slots: whole(e.target.value) })}
          />
        </Field>
        <Field label="Processes" className="w-28">
          <Input
            inputMode="numeric"
            placeholder="as written"
            value={value.processes ? String(value.processes) : ""}
            onChange={(e) => onChange({ ...value, processes: whole(e.target.value) })}
          />
        </Field>
        <div className="flex flex-col gap-1">
          <span className="text-12 font-medium text-ink-2">Targets down</span>
          <Menu
            align="start"
            trigger={
              <Button disabled={targets.length === 0}>
                {down.length === 0 ? "None" : down.length === 1 ? down[0] : `${down.length} targets`}
                <ChevronDown aria-hidden className="size-4 text-ink-3" strokeWidth={1.75} />
              </Button>
            }
          >
            {targets.map((name) => (
              <MenuCheckItem
                key={name}
                checked={down.includes(name)}
                onChange={(on) => onChange({ ...value, down: on ? [...down, name] : down.filter((n) => n !== name) })}
              >
                {name}
              </MenuCheckItem>
            ))}
          </Menu>
        </div>
      </div>
    </Card>
  );
}
