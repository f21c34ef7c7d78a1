import { ChevronDown, Clock } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/Button";
import { cn } from "@/components/cn";
import { Field, Input } from "@/components/Field";
import { Popover } from "@/components/Popover";
import { formatTime, zoneName } from "@/format";
import { usePreferences } from "@/hooks/preferences";
import { useShortcuts } from "@/hooks/shortcuts";
import { parseRange, presets, type Range, rangeText } from "./range";

/** Presets and absolute times; the zone is shown. Key: t. */
export function TimeRange({ value, onChange }: { value: Range; onChange: (range: Range) => void }) {
  const [open, setOpen] = useState(false);
  const { zone } = usePreferences();
  useShortcuts({ t: () => setOpen(true) });
  const preset = presets.find((p) => p.value === value);
  const absolute = parseRange(value);
  const words = preset?.label ?? (absolute ? `${formatTime(absolute.from, zone)} – ${formatTime(absolute.to, zone)}` : value);
  return (
    <Popover
      label="Time range"
      open={open}
      onOpenChange={setOpen}
      align="end"
      className="w-72"
      trigger={
        <Button icon={Clock}>
          {words} <span className="font-normal text-ink-3">{zoneName(zone)}</span>
          <ChevronDown aria-hidden className="size-4 text-ink-3" strokeWidth={1.75} />
        </Button>
      }
    >
      <div className="flex flex-col gap-0.5">
        {presets.map((p) => (
          <button
            key={p.value}
            type="button"
            aria-current={p.value === value ? "true" : undefined}
            onClick={() => {
              onChange(p.value);
              setOpen(false);
            }}
            className={cn(
              "flex h-[30px] items-center rounded-control px-2 hover:bg-hover",
              p.value === value && "bg-accent-tint font-medium text-accent",
            )}
          >
            {p.label}
          </button>
        ))}
      </div>
      <Absolute
        onChange={(range) => {
          onChange(range);
          setOpen(false);
        }}
      />
    </Popover>
  );
}

function Absolute({ onChange }: { onChange: (range: Range) => void }) {
  const { zone } = usePreferences();
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  const iso = (text: string) => new Date(zone === "utc" ? `${text}Z` : text).toISOString();
  const valid = from !== "" && to !== "" && from < to;
  return (
    <form
      className="mt-2 flex flex-col gap-2 border-t border-line pt-2"
      onSubmit={(e) => {
        e.preventDefault();
        if (valid) onChange(rangeText(iso(from), iso(to)));
      }}
    >
      <Field label={`From (${zoneName(zone)})`}>
        <Input type="datetime-local" value={from} onChange={(e) => setFrom(e.target.value)} />
      </Field>
      <Field label={`To (${zoneName(zone)})`} error={from && to && from >= to ? "The end must be after the start." : null}>
        <Input type="datetime-local" value={to} onChange={(e) => setTo(e.target.value)} />
      </Field>
      <Button type="submit" disabled={!valid}>
        Use this range
      </Button>
    </form>
  );
}
