import type { Schemas } from "@/api";

/** The shapes of the playground's API, by short names. */
export type Setup = Schemas["PlaygroundSetup"];
export type SetupColumn = Setup["columns"][number];
export type RunSummary = Schemas["PlaygroundRunSummary"];
export type Run = Schemas["PlaygroundRun"];
export type Cell = Schemas["PlaygroundCell"];
export type Mark = Schemas["PlaygroundMark"];
export type Share = Schemas["PlaygroundShare"];
export type Estimate = Schemas["PlaygroundEstimate"];
