import type { Schemas } from "@/api";
import { Checkbox } from "@/components/Checkbox";
import { cn } from "@/components/cn";
import { TimeAgo } from "@/components/Time";
import { shortId } from "@/format";

export interface ItemPickerProps {
  items: readonly Schemas["DeadLetter"][];
  shown: string;
  chosen: ReadonlySet<string>;
  /** Absent: the person may not act on items. */
  onChosen: ((chosen: ReadonlySet<string>) => void) | undefined;
  onItem: (item: string) => void;
}

/** The items of a group: one is shown, and some can be chosen for a retry of their own. */
export function ItemPicker({ items, shown, chosen, onChosen, onItem }: ItemPickerProps) {
  const toggle = (id: string, on: boolean) => {
    const next = new Set(chosen);
    if (on) next.add(id);
    else next.delete(id);
    onChosen?.(next);
  };
  return (
    <>
      {onChosen && items.length > 1 && (
        <div className="flex h-8 items-center">
          <Checkbox
            label={`Choose all ${items.length}`}
            showLabel
            checked={chosen.size === items.length}
            some={chosen.size > 0 && chosen.size < items.length}
            onChange={(on) => onChosen(new Set(on ? items.map((i) => i.item_id) : []))}
          />
        </div>
      )}
      <ul className="max-h-64 overflow-y-auto rounded-card border border-line bg-surface">
        {items.map((item) => (
          <li
            key={item.item_id}
            className={cn(
              "flex h-8 items-center gap-3 border-b border-line px-3 last:border-b-0",
              item.item_id === shown && "bg-accent-tint",
            )}
          >
            {onChosen && (
              <Checkbox label={`Choose ${item.item_id}`} checked={chosen.has(item.item_id)} onChange={(on) => toggle(item.item_id, on)} />
            )}
            <button
              type="button"
              aria-current={item.item_id === shown ? "true" : undefined}
              onClick={() => onItem(item.item_id)}
              className="flex h-full min-w-0 flex-1 items-center gap-3 text-left focus-visible:-outline-offset-2"
            >
              <span className="font-mono text-12 text-ink-2">{shortId(item.item_id)}</span>
              <span className="min-w-0 flex-1 truncate text-12 text-ink-3">{shortId(item.job_id)}</span>
              <span className="text-12">
                <TimeAgo iso={item.created_at} />
              </span>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
