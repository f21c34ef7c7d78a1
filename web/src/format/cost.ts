import { missing } from "./number";

const decimal = /^(-?)(\d+)(?:\.(\d+))?$/;

/**
 * A cost of the server, as text: `$392.40`; under $0.10 four decimals `$0.0086`; under $0.001 two figures `$0.000072`.
 * The string is never made a float: a float would change the last digits of large sums.
 */
export function formatCost(usd: string | null | undefined): string {
  if (usd == null) return missing;
  const parts = decimal.exec(usd);
  if (!parts) return usd;
  const sign = parts[1] ? "−" : "";
  const whole = BigInt(parts[2] ?? "0");
  const fraction = (parts[3] ?? "").padEnd(9, "0").slice(0, 9);
  const nano = whole * 1_000_000_000n + BigInt(fraction);
  return `${sign}$${spell(nano, decimalsOf(nano))}`;
}

function decimalsOf(nano: bigint): number {
  if (nano === 0n || nano >= 100_000_000n) return 2;
  if (nano >= 995_000n) return 4; // two figures of less would round up to 0.0010
  return Math.min(9, 9 - (nano.toString().length - 2));
}

function spell(nano: bigint, decimals: number): string {
  const unit = 10n ** BigInt(9 - decimals);
  const rounded = (nano + unit / 2n) / unit;
  const digits = rounded.toString().padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals).replace(/\B(?=(\d{3})+$)/g, ",");
  return `${whole}.${digits.slice(-decimals)}`;
}

/** The exact value, without zeros behind its last digit: `$0.0000412`. */
export function exactCost(usd: string): string {
  const parts = decimal.exec(usd);
  if (!parts) return usd;
  const fraction = (parts[3] ?? "").replace(/0+$/, "").padEnd(2, "0");
  return `${parts[1] ? "−" : ""}$${parts[2]}.${fraction}`;
}

/** The sum of costs of the server, exact, as the server spells it. */
export function addCosts(costs: readonly string[]): string {
  let sum = 0n;
  for (const usd of costs) {
    const [, sign, whole = "0", fraction = ""] = decimal.exec(usd) ?? [];
    const nano = BigInt(whole) * 1_000_000_000n + BigInt(fraction.padEnd(9, "0").slice(0, 9));
    sum += sign ? -nano : nano;
  }
  const digits = (sum < 0n ? -sum : sum).toString().padStart(10, "0");
  return `${sum < 0n ? "-" : ""}${digits.slice(0, -9)}.${digits.slice(-9)}`;
}

/** A cost as a number, for the length of bars and lines of charts only; never for text or sums. */
export function costForDrawing(usd: string | null | undefined): number {
  return usd == null ? 0 : Number(usd);
}

/** The share of a cost in a limit, 0 to 1 and above, for bars. */
export function costShare(part: string, whole: string): number {
  const limit = Number(whole);
  return limit > 0 ? Number(part) / limit : 0;
}
