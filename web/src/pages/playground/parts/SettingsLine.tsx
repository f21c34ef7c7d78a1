import { SlidersHorizontal } from "lucide-react";
import { cn } from "@/components/cn";
import { later } from "@/components/later";
import { Popover } from "@/components/Popover";
import { formatCount } from "@/format";
import { type Column, letters } from "../setup/editor";
import { shownSettings } from "../setup/params";
import { usePlayground } from "../state";
import { useColumns } from "../useColumns";

const SettingsForm = later(() => import("./SettingsForm").then((m) => m.SettingsForm));

/** The settings in one line; those that differ from column A are marked. It opens their form. */
export function SettingsLine({ at, column }: { at: number; column: Column }) {
  const { readOnly } = usePlayground();
  const { effective, estimate } = useColumns();
  const first = at === 0 ? null : (effective[0]?.params ?? {});
  const shown = shownSettings(effective[at]?.params ?? {}, first);
  const tokens = estimate?.columns[at]?.input_tokens;
  const line = (
    <>
      <span className="flex min-w-0 flex-1 gap-x-3 overflow-hidden whitespace-nowrap">
        {shown.length === 0 && <span className="text-ink-3">Settings of the model</span>}
        {shown.map((s) => (
          <span key={s.member} className={cn("shrink-0", s.differs && "-mx-1 rounded-chip bg-amber-tint px-1 text-amber")}>
            <span className={s.differs ? undefined : "text-ink-3"}>{s.name}</span> <span className="num">{s.text}</span>
            {s.differs && <span className="sr-only"> differs from column A</span>}
          </span>
        ))}
      </span>
      {tokens != null && <span className="num hidden shrink-0 text-ink-3 @[320px]:inline">{formatCount(tokens)} tokens</span>}
    </>
  );
  const look = "@container flex h-8 min-w-0 items-center gap-2 border-b border-line px-3 text-left text-12";
  if (readOnly) return <div className={look}>{line}</div>;
  return (
    <Popover
      label={`Settings of column ${letters[at]}`}
      align="end"
      className="w-80 max-w-[calc(100vw-2rem)]"
      trigger={
        <button type="button" className={cn(look, "hover:bg-hover focus-visible:-outline-offset-2")}>
          <span className="sr-only">Settings of column {letters[at]}: </span>
          {line}
          <SlidersHorizontal aria-hidden className="size-3.5 shrink-0 text-ink-3" strokeWidth={1.75} />
        </button>
      }
    >
      <SettingsForm at={at} column={column} />
    </Popover>
  );
}
