import { CopyButton } from "@/components/Copy";
import { Dialog } from "@/components/Dialog";
import { IdLink } from "@/components/LinkedText";
import { letters } from "../setup/editor";
import { useEditor, useLiveText } from "../state";
import { Answer } from "./Answer";
import { Metrics } from "./Metrics";
import { ToolCalls } from "./ToolCalls";
import { useShownCell } from "./useShownCell";

/** One output on the whole width, with its requests. */
export function OutputDialog({ column, onClose }: { column: number; onClose: () => void }) {
  const ran = useEditor((e) => e.columns[column]?.ran ?? null);
  const cell = useShownCell({ ran });
  const live = useLiveText(cell?.n);
  if (!cell) return null;
  const text = live?.text ?? cell.output.text;
  return (
    <Dialog
      open
      wide
      onOpenChange={(open) => !open && onClose()}
      title={`Output of column ${letters[column]}`}
      description={
        <span className="flex flex-wrap items-center gap-x-3">
          <span>{[cell.model, cell.target].filter(Boolean).join(" on ")}</span>
          {cell.prompt && (
            <span>
              {cell.prompt.name} {cell.prompt.version ? `v${cell.prompt.version}` : "draft"}
            </span>
          )}
          {cell.request_ids.map((id) => (
            <IdLink key={id} id={id} />
          ))}
        </span>
      }
      footer={<CopyButton text={text} withText small={false} label="Copy output" />}
    >
      <div className="flex flex-col gap-3 pb-3">
        {live?.reasoning && (
          <p className="border-l-2 border-line-2 pl-3 text-12 break-words whitespace-pre-wrap text-ink-2">{live.reasoning}</p>
        )}
        <ToolCalls calls={cell.output.tool_calls} writing="" />
        <Answer text={text} compared={null} streaming={cell.state === "running"} />
        <Metrics cell={cell} />
      </div>
    </Dialog>
  );
}
