import { useEffect, useState } from "react";
import { Button } from "@/components/Button";
import { Dialog } from "@/components/Dialog";
import { toast } from "@/components/Toast";
import { formatBytes, plural } from "@/format";
import { withRows } from "../setup/editor";
import { maxFileBytes, maxRows, type ReadRows, readRows } from "../setup/rows";
import { useEdit, useEditor, usePlayground } from "../state";
import { useColumns } from "../useColumns";

const shownProblems = 20;
const shownRows = 5;

/** Shows the rows of a file and what is wrong with its other lines, before they become the rows of the setup. The file stays in the browser. */
export function ImportDialog({ file, onClose }: { file: File | undefined; onClose: () => void }) {
  const { fields } = useColumns();
  const { editor } = usePlayground();
  const edit = useEdit();
  const rows = useEditor((e) => e.rows);
  const [read, setRead] = useState<ReadRows | string | null>(null);
  useEffect(() => {
    if (!file) return;
    if (file.size > maxFileBytes) {
      setRead(`The file has ${formatBytes(file.size)}. The page reads files of up to ${formatBytes(maxFileBytes)}; use a batch for more.`);
      return;
    }
    let gone = false;
    file.text().then(
      (text) => !gone && setRead(readRows(file.name, text, fields)),
      () => !gone && setRead("The browser could not read the file."),
    );
    return () => {
      gone = true;
    };
  }, [file, fields]);

  const found = read !== null && typeof read !== "string" ? read : null;
  const empty = rows.length === 1 && Object.values(rows[0] ?? {}).every((text) => text === "");
  const use = (add: boolean) => {
    if (!found) return;
    const before = editor.get();
    const fresh = found.rows.map((r) => r.row);
    edit((e) => ({ ...withRows(e, add ? [...e.rows, ...fresh].slice(0, maxRows) : fresh), row: add ? e.rows.length : 0 }));
    toast(`${plural(fresh.length, "row")} loaded`, { undo: () => edit(() => before) });
    onClose();
  };
  return (
    <Dialog
      open
      wide
      onOpenChange={(open) => !open && onClose()}
      title={`Rows of ${file?.name ?? "the file"}`}
      description="One row for each line. CSV needs a head with the names of the variables; JSONL has an object on each line."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          {!empty && rows.length < maxRows && (
            <Button disabled={!found || found.rows.length === 0} onClick={() => use(true)}>
              Add rows
            </Button>
          )}
          <Button look="accent" disabled={!found || found.rows.length === 0} onClick={() => use(false)}>
            {found ? `Use ${plural(found.rows.length, "row")}` : "Use rows"}
          </Button>
        </>
      }
    >
      {typeof read === "string" && (
        <p role="alert" className="pb-3 text-red">
          {read}
        </p>
      )}
      {found && <Found found={found} names={fields.map((f) => f.name)} />}
    </Dialog>
  );
}

function Found({ found, names }: { found: ReadRows; names: readonly string[] }) {
  return (
    <div className="flex flex-col gap-3 pb-3">
      <p role="status">
        {plural(found.rows.length, "row")} can be used
        {found.problems.length > 0 && <span className="text-red">, {plural(found.problems.length, "line")} cannot</span>}.
        {found.cut && <span className="text-amber"> The file has more; a run has at most {maxRows} rows.</span>}
      </p>
      {found.unknown.length > 0 && (
        <p className="text-12 text-ink-2">
          Left out, because no prompt has a variable of this name:{" "}
          <span className="font-mono">{found.unknown.slice(0, 10).join(", ")}</span>
        </p>
      )}
      {found.problems.length > 0 && (
        <ul
          aria-label="Lines that cannot be used"
          className="max-h-40 overflow-y-auto rounded-card border border-red-line bg-red-tint p-2 text-12"
        >
          {found.problems.slice(0, shownProblems).map((p) => (
            <li key={`${p.line}-${p.message}`} className="py-0.5">
              <span className="num font-medium text-red">Line {p.line}</span> {p.message}
            </li>
          ))}
          {found.problems.length > shownProblems && <li className="text-ink-2">and {found.problems.length - shownProblems} more</li>}
        </ul>
      )}
      {found.rows.length > 0 && (
        <section aria-label="First rows" tabIndex={0} className="overflow-x-auto rounded-card border border-line">
          <table className="w-full text-12">
            <thead>
              <tr className="border-b border-line bg-sunken text-left text-ink-2">
                <th className="px-2 py-1 font-normal">Line</th>
                {names.map((name) => (
                  <th key={name} className="px-2 py-1 font-mono font-normal text-violet">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {found.rows.slice(0, shownRows).map(({ line, row }) => (
                <tr key={line} className="border-b border-line last:border-b-0">
                  <td className="num px-2 py-1 text-ink-3">{line}</td>
                  {names.map((name) => (
                    <td key={name} className="max-w-48 truncate px-2 py-1">
                      {row[name]}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </div>
  );
}
