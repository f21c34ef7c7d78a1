import { useQuery } from "@tanstack/react-query";
import { Fragment } from "react";
import { read } from "@/api";
import { cn } from "@/components/cn";
import { Skeleton, useSlow } from "@/components/Skeleton";
import { ErrorPanel } from "@/components/States";
import { plural } from "@/format";
import { useOneTenant } from "@/routes";
import { type Block, blocksOf, type Line, summaryOf } from "./diff";
import { sideWord } from "./prompt";

/** The difference of two sides of a prompt, as the server finds it: messages by line, config and schema by member. */
export function Difference({ name, from, to }: { name: string; from: string; to: string }) {
  const tenant = useOneTenant();
  const diff = useQuery({
    ...read(tenant, "/v1/prompts/{name}/diff", { params: { path: { name }, query: { from, to } } }),
    staleTime: /^\d+$/.test(from) && /^\d+$/.test(to) ? Number.POSITIVE_INFINITY : 0, // versions never change
  });
  const slow = useSlow(diff.isPending);
  if (diff.error) return <ErrorPanel error={diff.error} onRetry={() => void diff.refetch()} />;
  if (!diff.data) return slow ? <Skeleton className="h-24" /> : null;
  const summary = summaryOf(diff.data);
  const blocks = blocksOf(diff.data);
  return (
    <section aria-label={`Difference between ${sideWord(from)} and ${sideWord(to)}`} className="flex flex-col gap-2">
      <p className="text-12 text-ink-2">
        {summary === null
          ? `${sideWord(from)} and ${sideWord(to)} have the same content.`
          : `Changed from ${sideWord(from)} to ${sideWord(to)}: ${summary}.`}
      </p>
      {summary !== null &&
        blocks.map((block, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: titles repeat, and their order is their identity.
          <BlockView key={i} block={block} />
        ))}
    </section>
  );
}

const changeWords: Record<Block["change"], string> = { same: "the same", changed: "changed", added: "added", removed: "removed" };

function BlockView({ block }: { block: Block }) {
  return (
    <div className="overflow-hidden rounded-card border border-line">
      <div className="flex min-h-7 items-center gap-2 bg-sunken px-3 text-12">
        <span className="min-w-0 truncate font-medium">{block.title}</span>
        <span className="text-ink-3">{changeWords[block.change]}</span>
      </div>
      {block.change !== "same" && (
        <div className="border-t border-line py-1 font-mono text-12/5">
          {block.lines.map((line, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines repeat, and their order is their identity.
            <Fragment key={i}>
              {typeof line === "number" ? (
                <div className="bg-sunken px-3 text-ink-3">… {plural(line, "equal line")}</div>
              ) : (
                <DiffLine line={line} />
              )}
            </Fragment>
          ))}
        </div>
      )}
    </div>
  );
}

function DiffLine({ line }: { line: Line }) {
  let at = 0;
  return (
    <div
      className={cn("flex min-h-5 px-3 whitespace-pre-wrap", line.kind === "add" && "bg-diff-add", line.kind === "del" && "bg-diff-del")}
    >
      <span className={cn("w-4 shrink-0 select-none", line.kind === "add" && "text-green", line.kind === "del" && "text-red")}>
        {line.kind === "add" ? "+" : line.kind === "del" ? "−" : ""}
      </span>
      <span className="min-w-0 break-words">
        {line.parts.map((part) => {
          const key = at;
          at += part.text.length;
          const mark = line.kind === "add" ? "font-semibold text-green underline" : "font-semibold text-red line-through";
          return (
            <span key={key} className={part.changed ? mark : undefined}>
              {part.text}
            </span>
          );
        })}
      </span>
    </div>
  );
}
