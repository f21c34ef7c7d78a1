const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** The sign of an absent value. Zero is 0. */
export const missing = "–";

/** `1,204,880`: the exact number. */
export function formatCount(n: number | null | undefined): string {
  return n == null ? missing : grouped.format(n);
}

const steps = [
  { from: 1e12, unit: "T" },
  { from: 1e9, unit: "B" },
  { from: 1e6, unit: "M" },
] as const;

/** `71.4 M`: three figures above a million, the exact number below. */
export function formatAmount(n: number | null | undefined): string {
  if (n == null) return missing;
  for (const { from, unit } of steps) {
    if (Math.abs(n) >= from) return `${threeFigures(n / from)} ${unit}`;
  }
  return grouped.format(n);
}

/** `318 ms`-like precision: three significant figures, no exponent. */
export function threeFigures(n: number): string {
  const size = Math.abs(n);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return n.toFixed(digits).replace("-", "−");
}

/** `61%`, from a share of 0 to 1; small shares keep two decimals. */
export function formatPercent(share: number | null | undefined): string {
  if (share == null || !Number.isFinite(share)) return missing;
  const percent = share * 100;
  const size = Math.abs(percent);
  const near = size > 99 && size < 100; // 99.61% must not read as 100%
  const digits = size === 0 || size === 100 ? 0 : near || size < 1 ? 2 : size < 10 ? 1 : 0;
  return `${percent.toFixed(digits).replace("-", "−")}%`;
}

/** `−4.5 pt`: the difference of two shares. */
export function formatPoints(difference: number | null | undefined): string {
  if (difference == null || !Number.isFinite(difference)) return missing;
  const points = difference * 100;
  const digits = Math.abs(points) < 1 ? 2 : 1;
  return `${sign(points)}${Math.abs(points).toFixed(digits)} pt`;
}

/** `+6.2%`: the relative change of a number; null without an earlier one. */
export function formatChange(now: number, before: number): string | null {
  if (before === 0 || !Number.isFinite(now) || !Number.isFinite(before)) return null;
  const change = (now - before) / before;
  return `${sign(change)}${(Math.abs(change) * 100).toFixed(1)}%`;
}

function sign(n: number): string {
  return n < 0 ? "−" : n > 0 ? "+" : "";
}

const binary = ["B", "kB", "MB", "GB", "TB"] as const;

/** `1.4 MB`: decimal units, as disks and networks count. */
export function formatBytes(bytes: number | null | undefined): string {
  if (bytes == null) return missing;
  let size = bytes;
  let unit = 0;
  while (size >= 1000 && unit < binary.length - 1) {
    size /= 1000;
    unit++;
  }
  return `${unit === 0 ? size : threeFigures(size)} ${binary[unit]}`;
}

/** `1 item`, `2 items`: the count with its noun. */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${grouped.format(n)} ${n === 1 ? one : many}`;
}

/** `3.22/s`: how often something happens; slow rates are by the minute or the hour. */
export function formatRate(perSecond: number | null | undefined): string {
  if (perSecond == null || !Number.isFinite(perSecond)) return missing;
  if (perSecond * 3600 < 0.1) return "0/s"; // moving averages never reach zero
  if (perSecond >= 1000) return `${formatAmount(Math.round(perSecond))}/s`;
  if (perSecond >= 0.1) return `${threeFigures(perSecond)}/s`;
  if (perSecond * 60 >= 0.1) return `${threeFigures(perSecond * 60)}/min`;
  return `${threeFigures(perSecond * 3600)}/h`;
}
