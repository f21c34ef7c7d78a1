import { AlertTriangle, ChevronRight, RotateCw } from "lucide-react";
import { useDeferredValue, useEffect, useRef, useState } from "react";
import { Button } from "@/components/Button";
import { CopyButton } from "@/components/Copy";
import { cn } from "@/components/cn";
import { IdLink } from "@/components/LinkedText";
import type { Cell } from "../api";
import { type Column, letters } from "../setup/editor";
import { useEditor, useLiveText, usePlayground, useRun, useRunState } from "../state";
import type { Acts } from "../useActs";
import { useColumns } from "../useColumns";
import { Answer } from "./Answer";
import { cellWord, isOpen, lastSentence } from "./cells";
import { Empty } from "./Empty";
import { ToolCalls } from "./ToolCalls";
import { useShownCell } from "./useShownCell";

export interface OutputProps {
  at: number;
  column: Column;
  cell: Cell | undefined;
  acts: Acts | null;
}

/** The output of a column while it streams and after. It stays at its end until the person scrolls up. */
export function Output({ at, column, cell, acts }: OutputProps) {
  const loading = useRunState((s) => s.loading);
  const live = useLiveText(cell?.n);
  const box = useRef<HTMLElement>(null);
  const [following, setFollowing] = useState(true);
  const text = live?.text ?? "";
  const open = cell !== undefined && isOpen(cell);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it scrolls when the text grows.
  useEffect(() => {
    if (open && following && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [open, following, text, live?.reasoning]);
  return (
    <section
      ref={box}
      aria-label={`Output of column ${letters[at]}`}
      tabIndex={0}
      onScroll={(e) => {
        const { scrollHeight, scrollTop, clientHeight } = e.currentTarget;
        setFollowing(scrollHeight - scrollTop - clientHeight < 24);
      }}
      className="flex min-h-36 flex-col gap-3 overflow-y-auto p-3 focus-visible:-outline-offset-2 md:min-h-0"
    >
      {cell ? <Filled at={at} cell={cell} acts={acts} /> : !loading && <Empty at={at} ran={column.ran !== null} />}
      {cell && <Announcer at={at} cell={cell} text={text} />}
    </section>
  );
}

function Filled({ at, cell, acts }: { at: number; cell: Cell; acts: Acts | null }) {
  const live = useLiveText(cell.n);
  const compared = useCompared(at);
  const streaming = cell.state === "running";
  const text = live?.text ?? cell.output.text;
  const reasoning = live?.reasoning ?? cell.output.reasoning;
  return (
    <>
      {reasoning !== "" && <Reasoning text={reasoning} writing={streaming && text === ""} />}
      <ToolCalls calls={cell.output.tool_calls} writing={live?.toolArguments ?? ""} />
      {(text !== "" || streaming) && <Answer text={text} compared={compared} streaming={streaming} />}
      {cell.schema_valid === false && (
        <p className="flex items-center gap-2 text-12 text-red">
          <AlertTriangle aria-hidden className="size-3.5" strokeWidth={1.75} />
          The answer does not match the response schema.
        </p>
      )}
      {cell.finish_reason === "length" && (
        <p className="text-12 text-amber">The answer was cut at the most tokens that the settings allow.</p>
      )}
      {cell.error && <Failure cell={cell} acts={acts} />}
      {!cell.error && (cell.state === "stopped" || cell.state === "interrupted") && <Again word={cellWord(cell, true)} acts={acts} />}
    </>
  );
}

/** The output of column A, where differences from it are marked. It may lag behind a stream: marks are no hurry. */
function useCompared(at: number): string | null {
  const { marking } = useColumns();
  const first = useEditor((e) => e.columns[0]);
  const cell = useShownCell(first ?? { ran: null });
  const live = useLiveText(cell?.n);
  const text = useDeferredValue(live?.text ?? null);
  return marking && at > 0 && cell && !isOpen(cell) ? text : null;
}

function Reasoning({ text, writing }: { text: string; writing: boolean }) {
  const [open, setOpen] = useState(false);
  return (
    <div className="rounded-control border border-line bg-sunken">
      <button
        type="button"
        aria-expanded={open || writing}
        onClick={() => setOpen(!open)}
        className="flex h-7 w-full items-center gap-1.5 px-2 text-12 font-medium text-ink-2"
      >
        <ChevronRight aria-hidden className={cn("size-3.5", (open || writing) && "rotate-90")} strokeWidth={1.75} />
        {writing ? "Reasoning" : "Reasoned"}
      </button>
      {(open || writing) && <p className="px-3 pb-2 text-12 break-words whitespace-pre-wrap text-ink-2">{text}</p>}
    </div>
  );
}

/** Why the output failed, with the request to look it up by, and a way to run it again. */
function Failure({ cell, acts }: { cell: Cell; acts: Acts | null }) {
  const request = cell.request_ids.at(-1);
  return (
    <div role="alert" className="rounded-card border border-red-line bg-red-tint p-2.5">
      <p className="text-red">
        <span className="font-mono text-12 font-medium">{cell.error?.code}</span> {cell.error?.message}
      </p>
      <div className="mt-1 flex flex-wrap items-center gap-2 text-12 text-ink-2">
        {request && (
          <span className="flex items-center gap-1">
            <IdLink id={request} />
            <CopyButton text={request} label="Copy request id" />
          </span>
        )}
        <AgainButton acts={acts} />
      </div>
    </div>
  );
}

function Again({ word, acts }: { word: string; acts: Acts | null }) {
  return (
    <div className="flex flex-wrap items-center gap-2 text-12 text-ink-3">
      <span>{word === "Stopped" ? "Stopped before its end." : "The server ended before the answer did. The text so far is kept."}</span>
      <AgainButton acts={acts} />
    </div>
  );
}

/** Runs all outputs of the run again that have not succeeded. */
function AgainButton({ acts }: { acts: Acts | null }) {
  const run = useRun();
  const { readOnly } = usePlayground();
  if (!acts || readOnly || !run?.mine || run.state === "running") return null;
  return (
    <Button small icon={RotateCw} busy={acts.resume.isPending} onClick={() => acts.resume.mutate()}>
      Run again
    </Button>
  );
}

/** Screen readers hear the state, and whole sentences of the column that has the focus: four streams at once would be noise. */
function Announcer({ at, cell, text }: { at: number; cell: Cell; text: string }) {
  const box = useRef<HTMLParagraphElement>(null);
  const columns = useEditor((e) => e.columns.length);
  const inside = columns === 1 || box.current?.closest("section[aria-label^=Column]")?.contains(document.activeElement) === true;
  const said = cell.state === "running" ? (inside ? lastSentence(text) : "") : `Column ${letters[at]}: ${cellWord(cell, text !== "")}`;
  return (
    <p ref={box} aria-live="polite" className="sr-only">
      {said}
    </p>
  );
}
