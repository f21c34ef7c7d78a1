import { missing, threeFigures } from "./number";

/** `4 ms` `0.62 s` `6.2 s` `41 m 08 s` `5 h 12 m` `3 d 04 h`. */
export function formatDuration(ms: number | null | undefined): string {
  if (ms == null || !Number.isFinite(ms)) return missing;
  if (ms < 0) return `−${formatDuration(-ms)}`;
  if (ms < 500) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${threeFigures(Math.min(ms, 59_900) / 1000)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return pair(Math.floor(seconds / 60), "m", seconds % 60, "s");
  const minutes = Math.floor(seconds / 60);
  if (minutes < 48 * 60) return pair(Math.floor(minutes / 60), "h", minutes % 60, "m");
  const hours = Math.floor(minutes / 60);
  return pair(Math.floor(hours / 24), "d", hours % 24, "h");
}

function pair(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return `${large} ${largeUnit} ${String(small).padStart(2, "0")} ${smallUnit}`;
}

/** The time between two ISO times in milliseconds; null while one is absent. */
export function between(from: string | null | undefined, to: string | null | undefined): number | null {
  if (!from || !to) return null;
  const ms = Date.parse(to) - Date.parse(from);
  return Number.isNaN(ms) ? null : ms;
}

/** The age of a time in one unit: `9 s`, `2 m`, `5 h`, `12 d`. */
export function formatAge(iso: string, now: number): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(iso)) / 1000));
  if (Number.isNaN(seconds)) return missing;
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}
