import { useQuery } from "@tanstack/react-query";
import { Archive, RotateCw } from "lucide-react";
import { useState } from "react";
import { read } from "@/api";
import { Button } from "@/components/Button";
import { CurlButton } from "@/components/Copy";
import { KeyValue, PaneSection } from "@/components/KeyValue";
import { StateGlyph } from "@/components/StateGlyph";
import { ErrorPanel } from "@/components/States";
import { Time } from "@/components/Time";
import { plural } from "@/format";
import { useOneTenant } from "@/routes";
import { Compare } from "./Compare";
import { countText } from "./columns";
import type { Query } from "./filter";
import { ItemPicker } from "./ItemPicker";
import type { Filter, Group } from "./replay";
import { Sample } from "./Sample";

export interface GroupPaneProps {
  group: Group;
  query: Query;
  /** The item that is shown; the newest where absent. */
  item: string | undefined;
  onItem: (item: string) => void;
  mayAct: boolean;
  onAct: (kind: "retry" | "dismiss", what: string, filters: Filter[]) => void;
}

/** One cause of failures: its error, one of its items, the difference of two inputs, and its items. */
export function GroupPane({ group, query, item, onItem, mayAct, onAct }: GroupPaneProps) {
  const tenant = useOneTenant();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const ofGroup = { ...query, fingerprint: group.fingerprint };
  const list = useQuery(read(tenant, "/v1/dead_letters/items", { params: { query: { ...ofGroup, limit: 100 } } }));
  const items = list.data?.data ?? [group.sample];
  const shown = item ?? group.sample.item_id;
  const filters: Filter[] = chosen.size > 0 ? [{ fingerprint: group.fingerprint, item_ids: [...chosen] }] : [ofGroup];
  const what = chosen.size > 0 ? plural(chosen.size, "item") : "this group";
  return (
    <>
      <section className="border-b border-line px-5 py-4">
        <h2 className="flex items-center gap-2 font-mono text-13 font-medium text-red">
          <StateGlyph state="failed" />
          {group.code}
        </h2>
        <p className="mt-1.5 text-14 break-words">{group.sample.message}</p>
        <div className="mt-3 mb-2 flex flex-wrap items-center gap-2">
          {mayAct && (
            <>
              <Button small icon={RotateCw} onClick={() => onAct("retry", what, filters)}>
                Retry {chosen.size > 0 ? plural(chosen.size, "item") : `all ${countText(group)}`}…
              </Button>
              <Button small icon={Archive} onClick={() => onAct("dismiss", what, filters)}>
                Dismiss…
              </Button>
            </>
          )}
          <CurlButton small call={{ path: "/v1/dead_letters/items", query: ofGroup as Record<string, string> }} />
        </div>
        <KeyValue
          facts={[
            { name: "Kind", value: group.error_kind && <span className="font-mono text-12">{group.error_kind}</span> },
            { name: "Model", value: group.model ?? "Several models", copy: group.model ?? undefined },
            { name: "Target", value: group.sample.target, copy: group.sample.target ?? undefined },
            { name: "First failed", value: <Time iso={group.first_at} /> },
            { name: "Last failed", value: <Time iso={group.last_at} /> },
            {
              name: "Fingerprint",
              value: <span className="font-mono text-12 text-ink-2">{group.fingerprint}</span>,
              copy: group.fingerprint,
            },
          ]}
        />
      </section>
      <Sample key={shown} id={shown} items={items} onItem={onItem} />
      {items.length > 1 && <Compare key={`compare-${shown}`} id={shown} items={items} />}
      <PaneSection title="Items" aside={list.data?.has_more ? `first ${items.length}` : plural(items.length, "item")}>
        {list.error ? (
          <ErrorPanel error={list.error} onRetry={() => void list.refetch()} />
        ) : (
          <ItemPicker items={items} shown={shown} chosen={chosen} onChosen={mayAct ? setChosen : undefined} onItem={onItem} />
        )}
      </PaneSection>
    </>
  );
}
