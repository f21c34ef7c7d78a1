import { later } from "@/components/later";
import type { RunSummary } from "./api";
import type { Session } from "./useSession";

/** The dialog above the page. */
export type Shown =
  | { kind: "share" }
  | { kind: "code"; column: number }
  | { kind: "save"; column: number }
  | { kind: "compare"; columns: [number, number] }
  | { kind: "import"; file?: File }
  | { kind: "rows" }
  | { kind: "tool"; name: string | null }
  | { kind: "schema" }
  | { kind: "variables"; column: number }
  | { kind: "mark"; cell: number }
  | { kind: "output"; column: number }
  | { kind: "rename"; run: RunSummary }
  | { kind: "delete"; run: RunSummary };

// Their scripts are loaded when the first of them opens.
const Share = later(() => import("./share/ShareDialog").then((m) => m.ShareDialog));
const Code = later(() => import("./export/CodeDialog").then((m) => m.CodeDialog));
const Save = later(() => import("./export/SaveDialog").then((m) => m.SaveDialog));
const Compare = later(() => import("./output/CompareDialog").then((m) => m.CompareDialog));
const Import = later(() => import("./parts/ImportDialog").then((m) => m.ImportDialog));
const Rows = later(() => import("./parts/RowsDialog").then((m) => m.RowsDialog));
const ToolForm = later(() => import("./parts/ToolDialog").then((m) => m.ToolDialog));
const Schema = later(() => import("./parts/SchemaDialog").then((m) => m.SchemaDialog));
const VariablesSchema = later(() => import("./parts/VariablesDialog").then((m) => m.VariablesDialog));
const Mark = later(() => import("./output/MarkDialog").then((m) => m.MarkDialog));
const Output = later(() => import("./output/OutputDialog").then((m) => m.OutputDialog));
const Rename = later(() => import("./history/RenameDialog").then((m) => m.RenameDialog));
const Delete = later(() => import("./history/DeleteDialog").then((m) => m.DeleteDialog));

/** The one dialog that is open. */
export function PlaygroundDialogs({ shown, session, onClose }: { shown: Shown | null; session: Session; onClose: () => void }) {
  switch (shown?.kind) {
    case "share":
      return <Share onClose={onClose} />;
    case "code":
      return <Code column={shown.column} onClose={onClose} />;
    case "save":
      return <Save column={shown.column} onClose={onClose} />;
    case "compare":
      return <Compare columns={shown.columns} onClose={onClose} />;
    case "import":
      return <Import file={shown.file} onClose={onClose} />;
    case "rows":
      return <Rows onClose={onClose} />;
    case "tool":
      return <ToolForm name={shown.name} onClose={onClose} />;
    case "schema":
      return <Schema onClose={onClose} />;
    case "variables":
      return <VariablesSchema column={shown.column} onClose={onClose} />;
    case "mark":
      return <Mark cell={shown.cell} onClose={onClose} />;
    case "output":
      return <Output column={shown.column} onClose={onClose} />;
    case "rename":
      return <Rename run={shown.run} onClose={onClose} />;
    case "delete":
      return (
        <Delete
          run={shown.run}
          onDeleted={() => {
            if (session.follower?.id === shown.run.id) session.leave();
          }}
          onClose={onClose}
        />
      );
    default:
      return null;
  }
}

/** The dialogs that only read. */
export function SharedDialogs({ shown, onClose }: { shown: Shown | null; onClose: () => void }) {
  switch (shown?.kind) {
    case "rows":
      return <Rows onClose={onClose} />;
    case "mark":
      return <Mark cell={shown.cell} onClose={onClose} />;
    case "output":
      return <Output column={shown.column} onClose={onClose} />;
    case "compare":
      return <Compare columns={shown.columns} onClose={onClose} />;
    default:
      return null;
  }
}
