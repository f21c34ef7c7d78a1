import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { Field } from "@/components/Field";
import { FormDialog } from "@/components/FormDialog";
import { Segments } from "@/components/Tabs";
import { toast } from "@/components/Toast";
import { formatCount, plural } from "@/format";
import { type AuditQuery, csvOf, exportBound, jsonlOf, readEntries, saveFile } from "./export";

type Format = "jsonl" | "csv";

const formats = [
  { value: "jsonl", label: "JSONL" },
  { value: "csv", label: "CSV" },
] as const;

/** Exports the entries that the filters select. */
export function ExportDialog({ query, onClose }: { query: AuditQuery; onClose: () => void }) {
  const [format, setFormat] = useState<Format>("jsonl");
  const [count, setCount] = useState(0);
  const stop = useRef(new AbortController());
  const run = useMutation({
    mutationFn: () => readEntries(query, setCount, stop.current.signal),
    onSuccess: ({ entries, complete }) => {
      const text = format === "csv" ? csvOf(entries) : jsonlOf(entries);
      const part = complete ? "" : `-newest-${entries.length}`;
      saveFile(
        `audit-${new Date().toISOString().slice(0, 10)}${part}.${format}`,
        format === "csv" ? "text/csv" : "application/x-ndjson",
        text,
      );
      toast(
        `${plural(entries.length, "entry", "entries")} exported`,
        complete ? {} : { description: `The file has the newest ${formatCount(entries.length)}. Older entries are left out.` },
      );
      onClose();
    },
  });
  const close = () => {
    stop.current.abort();
    onClose();
  };
  return (
    <FormDialog
      open
      onOpenChange={(open) => !open && close()}
      title="Export the audit"
      description={`The entries that the filters select, the newest first: at most ${formatCount(exportBound)}. For more, narrow the time range.`}
      action={run.isPending ? `${formatCount(count)} read` : "Export entries"}
      ready={!run.isPending}
      busy={run.isPending}
      error={run.error}
      onSubmit={() => run.mutate()}
      call={{ path: "/admin/v1/audit", query: { ...query, limit: 100 } }}
    >
      <Field label="Format" hint={format === "jsonl" ? "One entry in a line, complete" : "Before and after are JSON in a cell"}>
        <Segments label="Format" value={format} tabs={formats} onChange={setFormat} />
      </Field>
    </FormDialog>
  );
}
