import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Schemas } from "@/api";
import { Diff } from "@/components/Diff";
import { PaneSection } from "@/components/KeyValue";
import { Reveal } from "@/components/Reveal";
import { Select } from "@/components/Select";
import { Skeleton } from "@/components/Skeleton";
import { ErrorPanel } from "@/components/States";
import { shortId } from "@/format";
import { useOneTenant } from "@/routes";
import { useRole } from "@/session";
import { inputQuery } from "./Input";

/** The inputs of two items of the group, line by line: what they share is often the cause. */
export function Compare({ id, items }: { id: string; items: readonly Schemas["DeadLetter"][] }) {
  const others = items.filter((i) => i.item_id !== id);
  const [other, setOther] = useState(others[0]?.item_id ?? "");
  const allowed = useRole(useOneTenant(), "developer", "reviewer");
  return (
    <PaneSection title="Difference of two inputs">
      <div className="mb-2 flex flex-wrap items-center gap-2 text-12 text-ink-2">
        <span className="font-mono">{shortId(id)}</span> against
        <Select
          small
          label="The other item"
          value={other}
          choices={others.map((i) => ({ value: i.item_id, label: shortId(i.item_id) }))}
          onChange={setOther}
        />
      </div>
      <Reveal key={other} what="the difference" allowed={allowed}>
        {() => <TwoInputs id={id} other={other} />}
      </Reveal>
    </PaneSection>
  );
}

function TwoInputs({ id, other }: { id: string; other: string }) {
  const tenant = useOneTenant();
  const a = useQuery(inputQuery(tenant, id));
  const b = useQuery(inputQuery(tenant, other));
  const error = a.error ?? b.error;
  if (error) return <ErrorPanel error={error} onRetry={() => void Promise.all([a.refetch(), b.refetch()])} />;
  if (a.data === undefined || b.data === undefined) return <Skeleton className="h-24" />;
  if (a.data === b.data) return <p className="text-ink-2">Both inputs are the same.</p>;
  return <Diff label="Difference of the inputs" before={a.data} after={b.data} />;
}
