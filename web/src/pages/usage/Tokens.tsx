import type { Schemas } from "@/api";
import { cn } from "@/components/cn";
import { PaneSection } from "@/components/KeyValue";
import { Skeleton } from "@/components/Skeleton";
import { formatAmount, formatCount } from "@/format";

type Sum = Schemas["Sum"];

interface TokenClass {
  name: string;
  part?: boolean; // of the class above
  count: (sum: Sum) => number;
}

const classes: readonly TokenClass[] = [
  { name: "Input", count: (s) => s.input_tokens },
  { name: "cached", part: true, count: (s) => s.cached_input_tokens },
  { name: "cache writes", part: true, count: (s) => s.cache_write_tokens ?? 0 },
  { name: "cache writes, 1 h", part: true, count: (s) => s.cache_write_1h_tokens ?? 0 },
  { name: "audio", part: true, count: (s) => s.audio_input_tokens ?? 0 },
  { name: "Output", count: (s) => s.output_tokens },
  { name: "reasoning", part: true, count: (s) => s.reasoning_tokens ?? 0 },
  { name: "audio", part: true, count: (s) => s.audio_output_tokens ?? 0 },
];

/** The tokens of the range by their class. Indented classes are a part of the class above. */
export function Tokens({ total }: { total: Sum | undefined }) {
  const most = total ? Math.max(1, total.input_tokens, total.output_tokens) : 1;
  return (
    <PaneSection title="Tokens by class" aside="of the range">
      <table className="w-full">
        <thead className="sr-only">
          <tr>
            <th scope="col">Class</th>
            <th scope="col">Share</th>
            <th scope="col">Tokens</th>
          </tr>
        </thead>
        <tbody>
          {classes.map(({ name, part, count }, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the list never changes, and "audio" stands twice.
            <tr key={i} className="h-7">
              <th scope="row" className={cn("w-32 text-left font-normal", part ? "pl-3 text-12 text-ink-3" : "text-ink-2")}>
                {name}
              </th>
              <td className="pr-3">
                <span className="block h-1.5 overflow-hidden rounded-full bg-line">
                  <span
                    className={cn("block h-full rounded-full", part ? "bg-water-line" : "bg-water-solid")}
                    style={{ width: total ? `${(100 * count(total)) / most}%` : 0 }}
                  />
                </span>
              </td>
              <td className="num w-16 text-right" title={total ? formatCount(count(total)) : undefined}>
                {total ? formatAmount(count(total)) : <Skeleton className="ml-auto w-10" />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </PaneSection>
  );
}
