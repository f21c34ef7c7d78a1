import { AlertTriangle } from "lucide-react";
import type { Schemas } from "@/api";
import { Cost } from "@/components/Cost";
import { type Fact, KeyValue } from "@/components/KeyValue";
import { Time } from "@/components/Time";
import { formatAmount, formatCount } from "@/format";
import { waitWords } from "./batch";

/** The answer of the dry run: whether it would be accepted, the count, and the bound of the cost. */
export function Trial({ trial: t }: { trial: Schemas["Trial"] }) {
  const wait = waitWords(t.waiting_on);
  const facts: Fact[] = [
    { name: "Items", value: <span className="num font-medium">{formatCount(t.items)}</span> },
    { name: "Cost at most", value: <Cost usd={t.at_most.cost_usd} what="held" /> },
    { name: "Estimate", value: <Cost usd={t.estimate.cost_usd} /> },
    { name: "Tokens", value: `about ${formatAmount(t.estimate.input_tokens)} in, ${formatAmount(t.estimate.output_tokens)} out` },
    { name: "Model", value: `${t.model}${t.target ? `, now by ${t.target}` : ""}` },
    { name: "Would end", value: <Time iso={t.estimated_finish_at} /> },
  ];
  return (
    <section aria-label="Dry run" aria-live="polite" className="rounded-card border border-line bg-sunken px-4 py-3">
      <h3 className="mb-1 text-13 font-semibold">{t.admitted ? "It would be accepted" : "It would be refused"}</h3>
      {t.refusal && (
        <p className="mb-2 flex items-start gap-2 text-red">
          <AlertTriangle aria-hidden className="mt-0.5 size-4 shrink-0" strokeWidth={1.75} />
          {t.refusal.message}
        </p>
      )}
      <div className="grid gap-x-6 md:grid-cols-2">
        <KeyValue facts={facts.slice(0, 3)} />
        <KeyValue facts={facts.slice(3)} />
      </div>
      {wait && <p className="mt-2 text-12 text-amber">It would wait: {wait}.</p>}
      {t.warnings.map((w) => (
        <p key={w} className="mt-2 text-12 text-amber">
          {w}
        </p>
      ))}
    </section>
  );
}
