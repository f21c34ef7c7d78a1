import { StateText } from "@/components/StateGlyph";
import { Time } from "@/components/Time";
import type { Column } from "@/components/table/column";
import { formatBytes, formatCount, missing, plural } from "@/format";
import { downloadable, type File, isoOf, purposeWords } from "./file";

export const fileColumns: readonly Column<File>[] = [
  { id: "name", header: "Name", width: "minmax(112px, 3fr)", fixed: true, narrow: "lead", cell: (f) => <FileName name={f.filename} /> },
  { id: "purpose", header: "Purpose", width: "88px", narrow: "line", cell: (f) => purposeWords[f.purpose] },
  { id: "state", header: "State", width: "minmax(100px, 1fr)", narrow: "hide", cell: (f) => <FileState file={f} /> },
  { id: "lines", header: "Lines", width: "52px", align: "right", cell: (f) => (downloadable(f) ? formatCount(f.lines) : missing) },
  { id: "size", header: "Size", width: "64px", align: "right", narrow: "side", cell: (f) => formatBytes(f.bytes) },
  { id: "created", header: "Created", width: "112px", narrow: "line", cell: (f) => <Time iso={isoOf(f.created_at)} /> },
  { id: "expires", header: "Expires", width: "132px", cell: (f) => <Time iso={isoOf(f.expires_at)} /> },
];

/** A name of a caller: text only. */
function FileName({ name }: { name: string }) {
  return (
    <span className="font-medium" title={name}>
      {name || missing}
    </span>
  );
}

export function FileState({ file }: { file: File }) {
  if (file.error_count > 0) return <StateText state="failed" word={plural(file.error_count, "invalid line")} />;
  return <StateText state={file.status === "error" ? "failed" : "succeeded"} word={file.status === "error" ? "Invalid" : "Ready"} />;
}
