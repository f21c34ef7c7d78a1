import { ArrowDownToLine } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Button } from "@/components/Button";
import { StateText } from "@/components/StateGlyph";
import { ErrorPanel } from "@/components/States";
import { useJobEvents } from "./useJobEvents";

/** The last complete sentence of a text, for screen readers: a stream is announced by the sentence. */
export function lastSentence(text: string): string {
  const end = Math.max(...[". ", "! ", "? ", "\n"].map((mark) => text.lastIndexOf(mark)));
  if (end < 0) return "";
  const whole = text.slice(0, end + 1);
  const before = Math.max(...[". ", "! ", "? ", "\n"].map((mark) => whole.slice(0, -1).trimEnd().lastIndexOf(mark)));
  return whole.slice(before + 1).trim();
}

/** The answer of a job with one item while it is written: a block cursor at its end, and Follow. */
export function LiveOutput({ tenant, job }: { tenant: string; job: string }) {
  const stream = useJobEvents(tenant, job, Number.POSITIVE_INFINITY);
  const [following, setFollowing] = useState(true);
  const box = useRef<HTMLDivElement>(null);
  const text = [...stream.texts.values()].join("");
  const running = stream.state === "reading";

  // biome-ignore lint/correctness/useExhaustiveDependencies: it scrolls when the text grows.
  useEffect(() => {
    if (following && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [following, text]);

  if (stream.error) return <ErrorPanel error={stream.error} />;
  return (
    <div className="flex flex-col gap-2">
      <div className="flex min-h-[26px] items-center justify-end gap-3">
        {running && <StateText state="running" word={text ? "Streaming" : "Waiting for the first token"} />}
        {running && (
          <Button small look="ghost" icon={ArrowDownToLine} aria-pressed={following} onClick={() => setFollowing(!following)}>
            {following ? "Following" : "Follow"}
          </Button>
        )}
      </div>
      <section
        ref={box}
        aria-label="Output"
        tabIndex={0}
        className="max-h-[480px] overflow-y-auto"
        onWheel={(e) => e.deltaY < 0 && setFollowing(false)}
      >
        <p className="max-w-[72ch] text-14 break-words whitespace-pre-wrap">
          {text}
          {running && <span aria-hidden className="ml-0.5 inline-block h-4 w-1.5 translate-y-0.5 bg-water-solid" />}
        </p>
      </section>
      <p aria-live="polite" className="sr-only">
        {lastSentence(text)}
      </p>
    </div>
  );
}
