import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { api, asApiError, dataOf } from "@/api";
import { CurlButton } from "@/components/Copy";
import { Cost } from "@/components/Cost";
import { PaneSection } from "@/components/KeyValue";
import { RefetchLine } from "@/components/Skeleton";
import { formatCount } from "@/format";
import { createStore, useStore } from "@/hooks/store";
import { useOneTenant } from "@/routes";
import { MessageView } from "../Content";
import { Variables } from "./Variables";
import { missingOf, type Typed, valuesOf, variablesOf } from "./variables";

/** The values that a person typed, by tenant and prompt, until the page is closed. They are data of the tenant, so nothing stores them. */
const typedValues = createStore<Readonly<Record<string, Typed>>>({});

export interface PreviewProps {
  name: string;
  /** The draft, or a version. */
  of: { draft: true; etag: string | null } | { version: number };
  /** The schema of the variables; null while the templates have a mistake. */
  schema: unknown;
}

const settleMs = 250;

/** The variables, and the prompt as a call would send it: messages, tokens, and the most that one attempt can cost. */
export function Preview({ name, of, schema }: PreviewProps) {
  const tenant = useOneTenant();
  const key = `${tenant}/${name}`;
  const all = useStore(typedValues);
  const typed = all[key] ?? {};
  const set = (variable: string, text: string) => typedValues.set((old) => ({ ...old, [key]: { ...old[key], [variable]: text } }));
  const [known, setKnown] = useState(schema); // fields stay while a person types a mistake
  if (schema !== null && schema !== known) setKnown(schema);
  const variables = useMemo(() => variablesOf(known), [known]);
  const { values, wrong } = useMemo(() => valuesOf(variables, typed), [variables, typed]);
  const missing = missingOf(variables, values);
  const waiting = schema === null || ("draft" in of && of.etag === null);
  const asked = useSettled(JSON.stringify(values));
  const body = { ...("draft" in of ? { draft: true } : { version: of.version }), variables: JSON.parse(asked) as unknown };
  const rendered = useQuery({
    queryKey: [tenant, "render", name, of, asked],
    queryFn: ({ signal }) => dataOf(api(tenant).POST("/v1/prompts/{name}/render", { params: { path: { name } }, body, signal })),
    enabled: !waiting && asked === JSON.stringify(values) && missing.length === 0 && Object.keys(wrong).length === 0,
    placeholderData: keepPreviousData,
    retry: false,
    gcTime: 0, // the key has values of the tenant
  });
  const error = rendered.error ? asApiError(rendered.error) : null;
  const r = rendered.data;
  return (
    <>
      <PaneSection title="Variables">
        {known !== null && <Variables variables={variables} typed={typed} wrong={wrong} onChange={set} />}
        {known === null && <p className="py-1 text-ink-3">The variables of the draft show here.</p>}
      </PaneSection>
      <PaneSection title="Preview" aside={<CurlButton small call={{ method: "POST", path: `/v1/prompts/${name}/render`, body }} />}>
        <RefetchLine active={rendered.isFetching} />
        <div aria-live="polite">
          {waiting && <p className="py-1 text-ink-3">The preview shows once the draft has no mistakes and is saved.</p>}
          {!waiting && missing.length > 0 && <p className="py-1 text-ink-3">Fill in {missing.join(", ")} to see the preview.</p>}
          {error && (
            <p role="alert" className="py-1 break-words text-red">
              {error.message}
            </p>
          )}
        </div>
        {!waiting && missing.length === 0 && r && !error && (
          <div className="flex flex-col gap-3 pt-1">
            <dl className="grid grid-cols-2 gap-2">
              <Figure name="Input tokens" value={formatCount(r.input_tokens)} />
              <Figure
                name={r.model ? `At most, on ${r.model}` : "At most"}
                value={r.at_most ? <Cost usd={r.at_most.cost_usd} /> : "no model"}
              />
            </dl>
            {r.messages.map((message, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the order of rendered messages is their identity.
              <MessageView key={i} message={message} rendered />
            ))}
          </div>
        )}
      </PaneSection>
    </>
  );
}

function Figure({ name, value }: { name: string; value: React.ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="truncate text-12 text-ink-3">{name}</dt>
      <dd className="num text-16 font-semibold">{value}</dd>
    </div>
  );
}

/** A text once it has not changed for a while. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), settleMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
