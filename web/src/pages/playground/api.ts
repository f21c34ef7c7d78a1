import type { Schemas } from "@/api";

/** The shapes of the playground's API, by short names. */
export type Setup = Schemas["Setup"];
export type SetupColumn = Setup["columns"][number];
export type RunSummary = Schemas["RunSummary"];
export type Run = Schemas["Run"];
export type Cell = Schemas["Cell"];
/** A mark as the page keeps it: it knows which is the person's own. */
export type Mark = Schemas["Mark"];
export type Share = Schemas["Share"];
export type Estimate = Schemas["Estimate"];
