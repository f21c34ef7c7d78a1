import { useQuery } from "@tanstack/react-query";
import { Link2, X } from "lucide-react";
import { read, serverURL } from "@/api";
import { IconButton } from "@/components/Button";
import { CurlButton, copyText } from "@/components/Copy";
import { Cost } from "@/components/Cost";
import { FullId } from "@/components/Id";
import { KeyValue, PaneSection } from "@/components/KeyValue";
import { Reveal } from "@/components/Reveal";
import { Skeleton, useSlow } from "@/components/Skeleton";
import { asState, StatePill } from "@/components/StateGlyph";
import { ErrorPanel } from "@/components/States";
import { Time } from "@/components/Time";
import { formatAmount, formatCount } from "@/format";
import { useRole } from "@/session";
import { Attempts } from "./Attempts";
import type { Item } from "./job";
import { Answer, InputBody } from "./Payload";

/** One item of a job with many: its facts, attempts and payloads. */
export function ItemPane({ tenant, id, onClose }: { tenant: string; id: string; onClose: () => void }) {
  const item = useQuery(read(tenant, "/v1/items/{id}", { params: { path: { id } } }));
  const slow = useSlow(item.isPending);
  const link = `${serverURL()}/t/${encodeURIComponent(tenant)}/items/${id}`;
  return (
    <div>
      <div className="flex items-center gap-1 border-b border-line px-5 py-2.5">
        <div className="min-w-0 flex-1">{item.data && <StatePill state={asState(item.data.status)} />}</div>
        <IconButton small icon={Link2} label="Copy link to the item" onClick={() => void copyText(link, "Link copied")} />
        <CurlButton call={{ path: `/v1/items/${id}` }} />
        <IconButton small icon={X} label="Close the item" hint="Esc" onClick={onClose} />
      </div>
      <div className="border-b border-line px-5 py-2">
        <FullId id={id} />
      </div>
      {item.error && <ErrorPanel error={item.error} onRetry={() => void item.refetch()} />}
      {slow && <Skeleton className="m-5 h-40" />}
      {item.data && <ItemFacts tenant={tenant} item={item.data} />}
    </div>
  );
}

function ItemFacts({ tenant, item }: { tenant: string; item: Item }) {
  const mayReveal = useRole(tenant, "developer", "reviewer");
  const id = item.item_id;
  return (
    <>
      {item.error && (
        <PaneSection title="Error">
          <p className="font-mono text-12 text-red">{item.error.code}</p>
          <p className="text-13 break-words text-ink-2">{item.error.message}</p>
        </PaneSection>
      )}
      <PaneSection title="Item">
        <KeyValue
          facts={[
            { name: "Custom id", value: item.custom_id, copy: item.custom_id ?? undefined },
            { name: "Index", value: formatCount(item.index) },
            { name: "Target", value: item.target },
            { name: "Tokens", value: `${formatAmount(item.usage.input_tokens)} in, ${formatAmount(item.usage.output_tokens)} out` },
            { name: "Cost", value: <Cost usd={item.usage.cost_usd} what="settled" /> },
            { name: "Finished", value: <Time iso={item.finished_at} /> },
          ]}
        />
      </PaneSection>
      <PaneSection title="Attempts">
        <Attempts attempts={item.history} />
      </PaneSection>
      <PaneSection title="Answer">
        <Reveal key={`answer ${id}`} what="the answer" allowed={mayReveal}>
          {() => <Answer tenant={tenant} id={id} maxHeight={320} />}
        </Reveal>
      </PaneSection>
      <PaneSection title="Input">
        <Reveal key={`input ${id}`} what="the input" allowed={mayReveal}>
          {() => <InputBody tenant={tenant} id={id} maxHeight={320} />}
        </Reveal>
      </PaneSection>
    </>
  );
}
