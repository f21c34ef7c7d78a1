import { Fragment } from "react";
import { exactCost, missing } from "@/format";

/** A price per million tokens, exactly as the server spells it: `$0.075`. */
export function priceText(usd: string | null | undefined): string {
  return usd == null || usd === "" ? missing : exactCost(usd);
}

export function PriceCell({ usd }: { usd: string | null | undefined }) {
  const text = priceText(usd);
  return <span className={text === missing ? "text-ink-3" : undefined}>{text}</span>;
}

/** `$0.40 / $0.10 / $1.60`: the prices of several classes. */
export function Prices({ of }: { of: readonly string[] }) {
  if (of.every((price) => price === missing)) return <span className="text-ink-3">no price</span>;
  return (
    <span className="num whitespace-nowrap">
      {of.map((price, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the classes stay in their order.
        <Fragment key={i}>
          {i > 0 && <span className="text-ink-3"> / </span>}
          {price}
        </Fragment>
      ))}
    </span>
  );
}

/** The prices of several targets in one cell: one price, or the lowest and the highest. */
export function priceRange(prices: readonly (string | null | undefined)[]): string {
  const known = prices.filter((p): p is string => p != null && p !== "");
  if (known.length === 0) return missing;
  const sorted = [...known].sort((a, b) => Number(a) - Number(b)); // for the order only
  const low = priceText(sorted[0]);
  const high = priceText(sorted.at(-1));
  return low === high ? low : `${low}–${high.slice(1)}`;
}
