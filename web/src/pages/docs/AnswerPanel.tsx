import { Square } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Button } from "@/components/Button";
import { Chip } from "@/components/Chip";
import { CodeView } from "@/components/CodeView";
import { CopyButton } from "@/components/Copy";
import { StateGlyph } from "@/components/StateGlyph";
import { formatBytes, formatDuration } from "@/format";
import type { TryAnswer } from "./useTry";

/** Status, time, headers and body of an answer. A stream shows as it arrives. */
export function AnswerPanel({ answer, onStop }: { answer: TryAnswer; onStop: () => void }) {
  const [headers, setHeaders] = useState(false);
  const running = answer.state === "waiting" || answer.state === "reading";
  return (
    <section aria-label="Answer" className="flex flex-col gap-2">
      <div className="flex min-h-7 flex-wrap items-center gap-2">
        <Status answer={answer} />
        <span className="num text-12 text-ink-3">{timeWords(answer)}</span>
        <span className="ml-auto" />
        {running && (
          <Button small icon={Square} onClick={onStop}>
            Stop
          </Button>
        )}
        {answer.headers.length > 0 && (
          <Button small aria-expanded={headers} onClick={() => setHeaders(!headers)}>
            {headers ? "Hide headers" : "Show headers"}
          </Button>
        )}
      </div>
      {answer.error && <p className="text-red">{answer.error}</p>}
      {headers && (
        <section
          aria-label="Headers"
          className="rounded-card border border-line bg-sunken p-2 font-mono text-11/5 break-all whitespace-pre-wrap"
        >
          {answer.headers.map(([name, value]) => `${name}: ${value}`).join("\n")}
        </section>
      )}
      <Body answer={answer} running={running} />
      {answer.cut && <p className="text-12 text-amber">The answer is longer. Only its first megabyte is shown.</p>}
    </section>
  );
}

function Status({ answer }: { answer: TryAnswer }) {
  if (answer.status === undefined) {
    const words = { failed: "No answer", stopped: "Stopped" } as const;
    const word = answer.state === "failed" || answer.state === "stopped" ? words[answer.state] : "Waiting for the answer";
    return (
      <span className="inline-flex items-center gap-2">
        <StateGlyph state={answer.state === "failed" ? "failed" : answer.state === "stopped" ? "cancelled" : "running"} />
        {word}
      </span>
    );
  }
  const hue = answer.status < 300 ? "green" : answer.status < 500 ? "amber" : "red";
  return (
    <span role="status">
      <Chip hue={hue}>
        {answer.status} {answer.statusText}
      </Chip>
    </span>
  );
}

function timeWords(a: TryAnswer): string {
  if (a.firstMs === undefined) return "";
  const size = a.text.length > 0 ? `, ${formatBytes(a.text.length)}` : "";
  const total = a.totalMs === undefined ? "" : `, all after ${formatDuration(a.totalMs)}`;
  return `Headers after ${formatDuration(a.firstMs)}${total}${size}${a.state === "stopped" ? ", stopped" : ""}`;
}

/** JSON is set out once it is complete, with its numbers untouched; everything else stays as it came. */
function Body({ answer, running }: { answer: TryAnswer; running: boolean }) {
  const type = answer.headers.find(([name]) => name === "content-type")?.[1] ?? "";
  if (answer.text === "") return null;
  const isJSON = type.includes("json") && !type.includes("jsonl") && !type.includes("ndjson");
  if (!running && isJSON) return <CodeView label="Body" text={spread(answer.text)} language="json" maxHeight={420} />;
  return <Stream text={answer.text} running={running} />;
}

/** JSON with line breaks. Integers above 2^53 would change in a parsed value; such text is shown as it came. */
export function spread(text: string): string {
  try {
    if (/[\d]{16,}/.test(text)) return text;
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function Stream({ text, running }: { text: string; running: boolean }) {
  const box = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the end moves with the text.
  useEffect(() => {
    if (running && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text, running]);
  return (
    <div className="relative">
      <section
        ref={box}
        aria-label="Body"
        tabIndex={0}
        className="max-h-[420px] overflow-auto rounded-card border border-line bg-sunken p-3 font-mono text-12/5 break-words whitespace-pre-wrap"
      >
        {text}
        {running && <span aria-hidden className="inline-block h-4 w-2 bg-water-solid align-text-bottom" />}
      </section>
      <div className="absolute top-1.5 right-1.5">
        <CopyButton text={text} label="Copy body" />
      </div>
    </div>
  );
}
