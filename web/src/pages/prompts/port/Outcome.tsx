import type { Schemas } from "@/api";
import { cn } from "@/components/cn";
import { StateGlyph } from "@/components/StateGlyph";
import { plural } from "@/format";

type Result = Schemas["PromptImportResult"];
type Problem = Schemas["PromptProblem"];

const states: Record<string, { state: "succeeded" | "queued" | "failed"; word: string }> = {
  created: { state: "succeeded", word: "new" },
  updated: { state: "succeeded", word: "new versions" },
  unchanged: { state: "queued", word: "unchanged" },
  failed: { state: "failed", word: "not imported" },
};

/** The result of an import, or of its dry run: each prompt with its problems, and the problems of whole files. */
export function Outcome({ report }: { report: Schemas["PromptImport"] }) {
  return (
    <section aria-label={report.dry_run ? "Dry run" : "Result"} aria-live="polite" className="rounded-card border border-line">
      <p className="border-b border-line bg-sunken px-3 py-1.5 text-12 text-ink-2">
        {report.dry_run ? "Dry run: nothing is changed yet. " : ""}
        {plural(report.prompts.length, "prompt")} in the format {report.format}.
      </p>
      <ul className="max-h-72 overflow-y-auto">
        {report.prompts.map((one) => (
          <ResultRow key={one.name} result={one} />
        ))}
      </ul>
      {report.problems.length > 0 && <Problems problems={report.problems} />}
    </section>
  );
}

function ResultRow({ result }: { result: Result }) {
  const { state, word } = states[result.state] ?? { state: "queued", word: result.state };
  const created = result.versions.filter((v) => v.created).length;
  return (
    <li className="border-b border-line last:border-b-0">
      <div className="flex min-h-8 flex-wrap items-center gap-x-3 px-3">
        <span className="inline-flex items-center gap-1.5">
          <StateGlyph state={state} />
          {word}
        </span>
        <span className="min-w-0 truncate font-mono text-12">{result.name}</span>
        <span className="ml-auto text-12 text-ink-3">
          {created > 0 && plural(created, "version")}
          {result.labels.length > 0 && `, labels ${result.labels.join(", ")}`}
          {result.ids.length > 0 && `, ${result.ids.join(", ")}`}
        </span>
      </div>
      {result.problems.length > 0 && <Problems problems={result.problems} />}
    </li>
  );
}

/** Problems with their file and line. */
export function Problems({ problems }: { problems: readonly Problem[] }) {
  return (
    <ul className="px-3 pb-2 text-12">
      {problems.map((p, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: problems repeat, and their order is their identity.
        <li key={i} className={cn("break-words", p.severity === "error" ? "text-red" : "text-amber")}>
          <span className="font-mono">
            {p.path}
            {p.line !== null && `:${p.line}`}
          </span>{" "}
          {p.construct && <span className="font-mono">{p.construct} </span>}
          {p.message}
        </li>
      ))}
    </ul>
  );
}
