import { CurlButton } from "@/components/Copy";
import { Kbd } from "@/components/Kbd";
import { modKey } from "@/hooks/shortcuts";
import { useRun } from "../state";
import { useColumns } from "../useColumns";

/** What to do before the first run; only the first column teaches. */
export function Empty({ at, ran }: { at: number; ran: boolean }) {
  const run = useRun();
  const { made } = useColumns();
  if (run) {
    return (
      <p className="text-12 text-ink-3">{ran ? "The run has no such row." : "This column was not in the run. Run again to fill it."}</p>
    );
  }
  if (at > 0) return <p className="text-12 text-ink-3">The output of this column appears here.</p>;
  return (
    <div className="flex max-w-md flex-col gap-3 py-2">
      <h2 className="text-14 font-semibold">Try a prompt before you save it</h2>
      <ol className="flex list-decimal flex-col gap-1.5 pl-4 text-ink-2 marker:text-ink-3">
        <li>
          Write the messages above, or choose a saved prompt. <span className="font-mono text-12 text-violet">{"{{name}}"}</span> makes a
          variable.
        </li>
        <li>Fill in the variables, or load rows from a CSV or JSONL file.</li>
        <li>Add columns to compare prompts, models and settings.</li>
        <li>
          Press <Kbd>{modKey}</Kbd> <Kbd>↵</Kbd> to run. The bound of the cost is known before.
        </li>
      </ol>
      <p className="text-12 text-ink-3">Every run is kept on the server, and only you see it until you share it.</p>
      {made.setup && (
        <div>
          <CurlButton withText call={{ method: "POST", path: "/v1/playground/runs", body: { setup: made.setup } }} />
        </div>
      )}
    </div>
  );
}
