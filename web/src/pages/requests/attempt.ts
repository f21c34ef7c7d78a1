import type { Schemas } from "@/api";

export type Attempt = Schemas["Attempt"];

export function attemptState(a: Attempt): "succeeded" | "failed" | "cancelled" {
  if (a.error_kind === null) return "succeeded";
  return a.error_kind === "cancelled" ? "cancelled" : "failed";
}
