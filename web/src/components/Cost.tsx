import { exactCost, formatCost, missing } from "@/format";
import { Tip } from "./Tooltip";

/** A cost of the server, with its exact value on hover. */
export function Cost({ usd, what }: { usd: string | null | undefined; what?: "held" | "settled" | "forfeit" }) {
  if (usd == null) return <span className="text-ink-3">{missing}</span>;
  return (
    <Tip text={`${exactCost(usd)}${what ? ` ${what}` : ""}`}>
      <span className="num whitespace-nowrap">{formatCost(usd)}</span>
    </Tip>
  );
}
