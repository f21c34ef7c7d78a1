import type { State } from "@/components/StateGlyph";
import type { RunSummary } from "../api";

/** The name of a run, or its prompts and models. */
export function runTitle(run: Pick<RunSummary, "name" | "prompts" | "models">): string {
  if (run.name) return run.name;
  const parts = run.prompts.length > 0 ? run.prompts.map((p) => p.replace(/@(\d+)$/, " v$1").replace(/@draft$/, " draft")) : run.models;
  return parts.join(", ") || "Untitled run";
}

/** A person as the page names them: those without an address have a prefix in the API. */
export function personName(author: { name: string }): string {
  return author.name.replace(/^person:/, "");
}

/** The glyph of a run: completed runs with failed outputs are mixed. */
export function runGlyph(run: Pick<RunSummary, "state" | "counts">): State {
  if (run.state === "running") return "running";
  if (run.state === "stopped") return "cancelled";
  if (run.state === "interrupted") return "expired";
  if (run.counts.failed === 0) return "succeeded";
  return run.counts.succeeded > 0 ? "mixed" : "failed";
}
