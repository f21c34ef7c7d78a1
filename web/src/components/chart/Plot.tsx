import "uplot/dist/uPlot.min.css";
import { useEffect, useEffectEvent, useRef } from "react";
import uPlot from "uplot";
import { formatDate } from "@/format";
import { useMedia } from "@/hooks/media";
import { usePreferences } from "@/hooks/preferences";
import type { ChartProps, Series, SeriesColor } from "../Chart";
import { stackUp } from "./stack";

/** A token as a colour that a canvas understands: light-dark() is resolved for the element. */
function colorOf(element: HTMLElement, token: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(--${token})`;
  element.append(probe);
  const color = getComputedStyle(probe).color;
  probe.remove();
  return color;
}

function withAlpha(color: string, alpha: number): string {
  return color.replace(/^rgb\(([^)]+)\)$/, (_, rgb: string) => `rgba(${rgb}, ${alpha})`);
}

const dayS = 86_400;
/** The words of the time axis: the clock of 24 hours, and the date where a day begins. Rows of uPlot: the step, the words, then those of a new year, month, day. */
const timeWords: uPlot.Axis.Values = [
  [365 * dayS, "{YYYY}", null, null, null, null, null, null, 1],
  [28 * dayS, "{MMM}", "{MMM} {YYYY}", null, null, null, null, null, 1],
  [dayS, "{D} {MMM}", null, null, null, null, null, null, 1],
  [60, "{HH}:{mm}", "{D} {MMM}", null, "{D} {MMM}", null, null, null, 0],
  [1, "{HH}:{mm}:{ss}", null, null, null, null, null, null, 1],
];

interface PlotProps extends ChartProps {
  height: number;
}

function optionsFor(host: HTMLElement, p: PlotProps, zone: "local" | "utc", onSelect: (from: number, to: number) => void): uPlot.Options {
  const ink = colorOf(host, "ink-3");
  const line = colorOf(host, "line");
  const font = '12px "Inter Variable", system-ui';
  const axis = { stroke: ink, font, ticks: { show: false }, border: { show: false } };
  return {
    width: host.clientWidth,
    height: p.height,
    legend: { show: false },
    cursor: { drag: { x: Boolean(p.onSelect), y: false, setScale: false }, y: false },
    tzDate: (ts) => (zone === "utc" ? uPlot.tzDate(new Date(ts * 1000), "Etc/UTC") : new Date(ts * 1000)),
    scales: {
      ...(p.days ? { x: { range: (_: uPlot, min: number, max: number) => [min - halfDay, max + halfDay] as [number, number] } } : {}),
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.15 : 1] },
    },
    axes: [
      { ...axis, grid: { show: false }, size: 28, ...(p.days ? { incrs: dayIncrements, values: dayWords } : { values: timeWords }) },
      { ...axis, size: 56, grid: { stroke: line, dash: [2, 3], width: 1 }, values: (_, ticks) => ticks.map((v) => p.format(v)) },
    ],
    series: [{}, ...inDrawingOrder(p).map((s) => (p.days ? barsFor(host, s.color) : seriesFor(host, s.color, Boolean(p.stacked))))],
    bands: p.stacked && !p.days ? p.series.slice(1).map((_, i) => ({ series: [i + 2, i + 1] as [number, number] })) : [],
    hooks: {
      setSelect: [
        (u) => {
          if (u.select.width > 4) onSelect(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
        },
      ],
      draw: [(u) => drawMarks(u, host, p)],
    },
  };
}

const halfDay = 43_200;
const dayIncrements = [1, 2, 4, 7, 14, 28].map((n) => n * 2 * halfDay);

function dayWords(_: uPlot, ticks: number[]): string[] {
  return ticks.map((t) => formatDate(new Date(t * 1000).toISOString(), "utc"));
}

/** Bars stand in front of the bars that they are a part of, so the highest edge is drawn first. */
function inDrawingOrder(p: PlotProps): readonly Series[] {
  return p.days ? p.series.toReversed() : p.series;
}

function barsFor(host: HTMLElement, color: SeriesColor): uPlot.Series {
  const solid = colorOf(host, `${color}-solid`);
  const paths = uPlot.paths.bars?.({ size: [0.64, 48], radius: 0 });
  return { stroke: solid, fill: solid, width: 0, points: { show: false }, ...(paths ? { paths } : {}) };
}

function seriesFor(host: HTMLElement, color: SeriesColor, stacked: boolean): uPlot.Series {
  const solid = colorOf(host, `${color}-solid`);
  return { stroke: solid, width: 1.5, points: { show: false }, ...(stacked ? { fill: withAlpha(solid, 0.18) } : {}) };
}

/** A dotted line at each marked moment, with its words left of it. */
function drawMarks(u: uPlot, host: HTMLElement, p: PlotProps): void {
  const { ctx } = u;
  for (const mark of p.marks ?? []) {
    const x = u.valToPos(mark.at, "x", true);
    if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
    ctx.save();
    ctx.strokeStyle = colorOf(host, `${mark.color}-solid`);
    ctx.fillStyle = ctx.strokeStyle;
    ctx.setLineDash([4, 4]);
    ctx.beginPath();
    ctx.moveTo(x, u.bbox.top);
    ctx.lineTo(x, u.bbox.top + u.bbox.height);
    ctx.stroke();
    ctx.textAlign = "right";
    ctx.fillText(mark.text, x - 8, u.bbox.top + 12);
    ctx.restore();
  }
}

/** The canvas. Chart prints the same numbers as a table. */
export function Plot(props: PlotProps) {
  const host = useRef<HTMLDivElement>(null);
  const { zone, theme } = usePreferences();
  const dark = useMedia("(prefers-color-scheme: dark)");
  const selected = useEffectEvent((from: number, to: number) => props.onSelect?.(from, to));

  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours follow the theme.
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const edges = props.stacked ? stackUp(props.series.map((s) => s.values)) : props.series.map((s) => s.values.slice());
    const data = [props.times.slice(), ...(props.days ? edges.toReversed() : edges)] as uPlot.AlignedData;
    const plot = new uPlot(optionsFor(element, props, props.days ? "utc" : zone, selected), data, element);
    const follow = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: props.height }));
    follow.observe(element);
    return () => {
      follow.disconnect();
      plot.destroy();
    };
  }, [props.times, props.series, props.marks, props.stacked, props.days, props.height, props.format, zone, theme, dark]);

  const said = props.series.map((s) => `${s.name} ${s.values.at(-1) == null ? "unknown" : props.format(s.values.at(-1) ?? 0)}`).join(", ");
  return <div ref={host} role="img" aria-label={`${props.title}: ${said} at the end of the range`} />;
}
