import { CalendarDays, ChevronDown } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/Button";
import { cn } from "@/components/cn";
import { Field, Input } from "@/components/Field";
import { Popover } from "@/components/Popover";
import { useShortcuts } from "@/hooks/shortcuts";
import { type DayRange as Days, dayPresets, dayRangeWords } from "./days";
import { rangeText } from "./range";

/** Presets and two days of UTC, for pages whose numbers are by day. Key: t. */
export function DayRange({ value, onChange }: { value: Days; onChange: (range: Days) => void }) {
  const [open, setOpen] = useState(false);
  useShortcuts({ t: () => setOpen(true) });
  const take = (range: Days) => {
    onChange(range);
    setOpen(false);
  };
  return (
    <Popover
      label="Time range"
      open={open}
      onOpenChange={setOpen}
      align="end"
      className="w-64"
      trigger={
        <Button icon={CalendarDays}>
          {dayRangeWords(value)} <span className="font-normal text-ink-3">UTC</span>
          <ChevronDown aria-hidden className="size-4 text-ink-3" strokeWidth={1.75} />
        </Button>
      }
    >
      <div className="flex flex-col gap-0.5">
        {dayPresets.map((p) => (
          <button
            key={p.value}
            type="button"
            aria-current={p.value === value ? "true" : undefined}
            onClick={() => take(p.value)}
            className={cn(
              "flex h-[30px] items-center rounded-control px-2 hover:bg-hover",
              p.value === value && "bg-accent-tint font-medium text-accent",
            )}
          >
            {p.label}
          </button>
        ))}
      </div>
      <TwoDays onChange={take} />
    </Popover>
  );
}

function TwoDays({ onChange }: { onChange: (range: Days) => void }) {
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  const valid = from !== "" && to !== "" && from <= to;
  return (
    <form
      className="mt-2 flex flex-col gap-2 border-t border-line pt-2"
      onSubmit={(e) => {
        e.preventDefault();
        if (valid) onChange(rangeText(from, to));
      }}
    >
      <Field label="First day (UTC)">
        <Input type="date" value={from} onChange={(e) => setFrom(e.target.value)} />
      </Field>
      <Field label="Last day (UTC)" error={from && to && from > to ? "The last day must not be before the first." : null}>
        <Input type="date" value={to} onChange={(e) => setTo(e.target.value)} />
      </Field>
      <Button type="submit" disabled={!valid}>
        Use these days
      </Button>
    </form>
  );
}
