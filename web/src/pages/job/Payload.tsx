import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, dataOf } from "@/api";
import { JsonView } from "@/components/CodeView";
import { CopyButton } from "@/components/Copy";
import { Skeleton, useSlow } from "@/components/Skeleton";
import { ErrorPanel } from "@/components/States";
import { Segments } from "@/components/Tabs";
import { indentJson } from "@/format";
import { answerText, type Item } from "./job";

/** A revealed payload is read once and not kept: each read is a look that the audit records. */
const once = { staleTime: Number.POSITIVE_INFINITY, gcTime: 0, refetchOnWindowFocus: false, refetchOnReconnect: false } as const;

/** The answer of an item, as text where it has some, and as JSON. */
export function Answer({ tenant, id, maxHeight = 480 }: { tenant: string; id: string; maxHeight?: number }) {
  const [form, setForm] = useState<"text" | "json">("text");
  const item = useQuery({
    queryKey: [tenant, "revealed answer", id],
    queryFn: () => dataOf(api(tenant).GET("/v1/items/{id}", { params: { path: { id }, query: { reveal: true } }, parseAs: "text" })),
    ...once,
  });
  const slow = useSlow(item.isPending);
  if (item.error) return <ErrorPanel error={item.error} onRetry={() => void item.refetch()} />;
  if (!item.data) return slow ? <Skeleton className="h-24" /> : null;
  const parsed = JSON.parse(item.data) as Item;
  const text = answerText(parsed.response?.body);
  if (!parsed.response)
    return <p className="text-ink-3">{parsed.error ? "The item failed and has no answer." : "There is no answer yet."}</p>;
  return (
    <div className="flex flex-col gap-2">
      {text !== null && (
        <div className="flex justify-end">
          <Segments
            label="Form"
            value={form}
            tabs={[
              { value: "text", label: "Text" },
              { value: "json", label: "JSON" },
            ]}
            onChange={setForm}
          />
        </div>
      )}
      {text !== null && form === "text" ? (
        <Prose text={text} />
      ) : (
        <JsonView label="Answer" raw={indentJson(item.data)} maxHeight={maxHeight} />
      )}
    </div>
  );
}

/** The text of a model: it is shown as it is, never as HTML or Markdown. */
export function Prose({ text }: { text: string }) {
  return (
    <div className="group relative">
      <p className="max-w-[72ch] text-14 break-words whitespace-pre-wrap">{text}</p>
      <span className="absolute top-0 right-0 opacity-0 group-focus-within:opacity-100 group-hover:opacity-100">
        <CopyButton text={text} label="Copy the text" />
      </span>
    </div>
  );
}

/** The body that an item was accepted with, byte by byte. */
export function InputBody({ tenant, id, maxHeight = 480 }: { tenant: string; id: string; maxHeight?: number }) {
  const input = useQuery({
    queryKey: [tenant, "revealed input", id],
    queryFn: () =>
      dataOf(api(tenant).GET("/v1/items/{id}/input", { params: { path: { id } }, parseAs: "text" })) as Promise<unknown> as Promise<string>,
    ...once,
  });
  const slow = useSlow(input.isPending);
  if (input.error) return <ErrorPanel error={input.error} onRetry={() => void input.refetch()} />;
  if (input.data === undefined) return slow ? <Skeleton className="h-24" /> : null;
  return <JsonView label="Input" raw={indentJson(input.data)} maxHeight={maxHeight} />;
}
