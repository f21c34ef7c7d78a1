import type { CurlCall, Schemas } from "@/api";
import { formatCount } from "@/format";

export type Control = Schemas["Control"];
export type ControlKind = Schemas["ControlKind"];

/** The part of Penstock that an operator can pause. */
export interface Subject {
  kind: ControlKind;
  name: string;
}

export type ControlState = "paused" | "draining";

/** `lane bulk`. */
export function subjectWords({ kind, name }: Subject): string {
  return `${kind} ${name}`;
}

/** The call that pauses, drains or (null) resumes, for Copy as curl. */
export function controlCall({ kind, name }: Subject, state: ControlState | null, reason = ""): CurlCall {
  const path = `/admin/v1/controls/${kind}/${encodeURIComponent(name)}`;
  if (state === null) return { method: "DELETE", path };
  return { method: "PUT", path, body: { state, ...(reason ? { reason } : {}) } };
}

/** `Paused`, `Draining, 3 running`, `Drained`. */
export function controlWord(control: Pick<Control, "state" | "running">): string {
  if (control.state === "drained") return "Drained";
  if (control.state !== "draining") return "Paused";
  return control.running === null ? "Draining" : `Draining, ${formatCount(control.running)} running`;
}
