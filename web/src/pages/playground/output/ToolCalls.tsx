import { Wrench } from "lucide-react";
import { indentJson } from "@/format";
import type { Cell } from "../api";

/** The calls of tools with their arguments and simulated results, and arguments that are still written. */
export function ToolCalls({ calls, writing }: { calls: Cell["output"]["tool_calls"]; writing: string }) {
  if (calls.length === 0 && writing === "") return null;
  return (
    <ul className="flex flex-col gap-2">
      {calls.map((call) => (
        <li key={call.id} className="rounded-control border border-line bg-sunken px-2 py-1.5">
          <Name name={call.name} note={call.result === null ? "no result: the answer ends with the call" : "simulated result"} />
          <Code text={call.arguments} />
          {call.result !== null && (
            <div className="mt-1 border-t border-line pt-1">
              <Code text={call.result} />
            </div>
          )}
        </li>
      ))}
      {calls.length === 0 && (
        <li className="rounded-control border border-line bg-sunken px-2 py-1.5">
          <Name name="Tool call" note="writing" />
          <Code text={writing} />
        </li>
      )}
    </ul>
  );
}

function Name({ name, note }: { name: string; note: string }) {
  return (
    <p className="flex items-center gap-1.5 text-12">
      <Wrench aria-hidden className="size-3.5 shrink-0 text-ink-3" strokeWidth={1.75} />
      <span className="truncate font-mono font-medium">{name}</span>
      <span className="ml-auto truncate text-ink-3">{note}</span>
    </p>
  );
}

function Code({ text }: { text: string }) {
  return <pre className="max-h-40 overflow-auto font-mono text-12/5 break-words whitespace-pre-wrap text-ink-2">{indentJson(text)}</pre>;
}
