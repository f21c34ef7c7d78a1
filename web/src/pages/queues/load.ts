import type { Schemas } from "@/api";
import { formatDuration, missing, plural } from "@/format";
import type { LaneName } from "./route";

export type Row = Schemas["Row"];
export type LaneQueue = Schemas["LaneQueue"];
export type Share = Schemas["Share"];
export type RunningProcess = Schemas["RunningProcess"];

/** Items that have not started: those that can start, and those that must wait for a time or for their input. */
export function waiting(row: Pick<Row, "ready" | "parked">): number {
  return row.ready + row.parked;
}

/** How long the first item of the line has waited. */
export function oldest(row: Row): string {
  return row.ready === 0 ? missing : formatDuration(row.oldest_seconds * 1000);
}

/** When the line will be empty at its present pace; nothing where no work waits, or the pace is not measured. */
export function emptyIn(row: Row): string {
  if (waiting(row) === 0 || row.empty_in_seconds === null) return missing;
  return formatDuration(row.empty_in_seconds * 1000);
}

/** The lane that is shown first: the deepest one. */
export function deepestLane(rows: readonly LaneQueue[]): LaneName {
  const deepest = rows.reduce<LaneQueue | undefined>((best, row) => (best && waiting(best) >= waiting(row) ? best : row), undefined);
  return (deepest?.name ?? "standard") as LaneName;
}

/** Tenants that have, or lately had, work in a lane. */
export function activeTenants(lane: Pick<LaneQueue, "tenants">): Share[] {
  return lane.tenants.filter((t) => waiting(t) > 0 || t.running > 0 || t.share > 0);
}

/** What a pause of a line of work touches. */
export function pauseEffect(row: Pick<Row, "ready" | "parked" | "running">, tenants?: number): string {
  const of = tenants === undefined || tenants === 0 ? "" : ` of ${plural(tenants, "tenant")}`;
  const n = waiting(row);
  const held = n === 0 ? "No item waits now." : `${plural(n, "queued item")}${of} ${n === 1 ? "waits" : "wait"} until you resume.`;
  const running = row.running === 0 ? "" : ` ${plural(row.running, "running item")} ${row.running === 1 ? "finishes" : "finish"}.`;
  return held + running;
}

export interface SlotCount {
  workers: number;
  slots: number;
  inUse: number;
}

/** The slots of the processes that claim items. */
export function slotCount(processes: readonly RunningProcess[]): SlotCount {
  const workers = processes.filter((p) => p.works && !p.draining);
  return {
    workers: workers.length,
    slots: workers.reduce((sum, p) => sum + p.slots, 0),
    inUse: workers.reduce((sum, p) => sum + p.in_use, 0),
  };
}

/** A process that was seen and no longer reports. */
export interface Seen extends RunningProcess {
  gone: boolean;
}

/** The processes now, and after them those that were there before and no longer are. */
export function withGone(before: readonly Seen[], now: readonly RunningProcess[]): Seen[] {
  const names = new Set(now.map((p) => p.name));
  const gone = before.filter((p) => !names.has(p.name)).map((p) => ({ ...p, gone: true }));
  return [...now.map((p) => ({ ...p, gone: false })), ...gone];
}
