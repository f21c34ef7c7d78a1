import type { Hue } from "./Chip";
import { cn } from "./cn";

const strokes: Record<Hue, string> = {
  slate: "text-slate-solid",
  water: "text-water-solid",
  green: "text-green-solid",
  red: "text-red-solid",
  amber: "text-amber-solid",
  violet: "text-violet-solid",
};

/** The points of a line in a box, from the left to the right. Flat data lies at the bottom. */
export function linePoints(values: readonly number[], width: number, height: number): [number, number][] {
  const low = Math.min(...values);
  const range = Math.max(...values) - low || 1;
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  return values.map((v, i) => [i * step, height - ((v - low) / range) * height]);
}

export interface SparklineProps {
  values: readonly number[];
  hue?: Hue;
  fill?: boolean;
  width?: number;
  height?: number;
}

/** A small line without axes. It decorates a number that is printed beside it, so screen readers skip it. */
export function Sparkline({ values, hue = "water", fill = true, width = 64, height = 18 }: SparklineProps) {
  if (values.length < 2) return null;
  const points = linePoints(values, width - 4, height - 4).map(([x, y]) => [x + 1, y + 2] as const);
  const path = points.map(([x, y], i) => `${i === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
  const last = points.at(-1);
  return (
    <svg aria-hidden width={width} height={height} className={cn("shrink-0 overflow-visible", strokes[hue])}>
      {fill && <path d={`${path}V${height}H1Z`} fill="currentColor" opacity="0.12" />}
      <path d={path} fill="none" stroke="currentColor" strokeWidth="1.25" strokeLinejoin="round" />
      {last && <circle cx={last[0]} cy={last[1]} r="2" fill="currentColor" />}
    </svg>
  );
}
