import { cn } from "./cn";
import { diffLines } from "./diff";

/** The difference of two texts, unified; + and − are printed, so that colour is not alone. */
export function Diff({ label, before, after }: { label: string; before: string; after: string }) {
  const lines = diffLines(before, after);
  return (
    <section
      aria-label={label}
      tabIndex={0}
      className="max-h-[480px] overflow-auto rounded-card border border-line bg-sunken py-2 font-mono text-12/5"
    >
      {lines.map((line, i) => (
        <div
          // biome-ignore lint/suspicious/noArrayIndexKey: lines repeat, and their order is their identity.
          key={i}
          className={cn(
            "flex px-3 whitespace-pre-wrap",
            line.kind === "add" && "bg-diff-add text-green",
            line.kind === "del" && "bg-diff-del text-red",
          )}
        >
          <span className="w-4 shrink-0 select-none">{line.kind === "add" ? "+" : line.kind === "del" ? "−" : ""}</span>
          <span className="min-w-0 break-words">{line.text}</span>
        </div>
      ))}
    </section>
  );
}
