import { missing } from "./number";

export type Zone = "local" | "utc";

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"] as const;

interface Parts {
  year: number;
  month: number;
  day: number;
  clock: string;
}

function partsOf(date: Date, zone: Zone): Parts {
  const two = (n: number) => String(n).padStart(2, "0");
  if (zone === "utc") {
    return {
      year: date.getUTCFullYear(),
      month: date.getUTCMonth(),
      day: date.getUTCDate(),
      clock: `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`,
    };
  }
  return {
    year: date.getFullYear(),
    month: date.getMonth(),
    day: date.getDate(),
    clock: `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`,
  };
}

/** `17 Nov, 14:32:07`; with the year where it is not the current one. */
export function formatTime(iso: string | null | undefined, zone: Zone, now = Date.now()): string {
  if (!iso) return missing;
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  const p = partsOf(date, zone);
  const year = p.year === partsOf(new Date(now), zone).year ? "" : ` ${p.year}`;
  return `${p.day} ${months[p.month]}${year}, ${p.clock}`;
}

/** `14:32:07`. */
export function formatClock(time: string | number, zone: Zone): string {
  return partsOf(new Date(time), zone).clock;
}

/** `17 Nov`, with the year where it is not the current one. */
export function formatDate(iso: string, zone: Zone, now = Date.now()): string {
  return formatTime(iso, zone, now).replace(/, \d\d:\d\d:\d\d$/, "");
}

/** The name of the zone that times are shown in: `UTC`, `CET`, `GMT+5:30`. */
export function zoneName(zone: Zone, at = new Date()): string {
  if (zone === "utc") return "UTC";
  const parts = new Intl.DateTimeFormat("en-GB", { timeZoneName: "short" }).formatToParts(at);
  return parts.find((p) => p.type === "timeZoneName")?.value ?? "local";
}
