import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, dataOf, download } from "@/api";
import { saveBlob } from "@/api/download";
import { Field, Input } from "@/components/Field";
import { FormDialog } from "@/components/FormDialog";
import { Select } from "@/components/Select";
import { toast } from "@/components/Toast";
import { useOneTenant } from "@/routes";
import { formats } from "./formats";
import { Problems } from "./Outcome";
import { zipOf } from "./zip";

/** Downloads prompts in a format. The complete one is a JSON file; the others are an archive with a file for each prompt. */
export function ExportDialog({ folder, onClose }: { folder: string; onClose: () => void }) {
  const tenant = useOneTenant();
  const [format, setFormat] = useState("json");
  const [prefix, setPrefix] = useState(folder);
  const [label, setLabel] = useState("");
  const query: Record<string, string> = { format, ...(prefix ? { prefix } : {}), ...(label ? { versions: label } : {}) };
  const run = useMutation({
    mutationFn: async () => {
      if (format === "json") {
        await download(tenant, "/v1/prompts/export", query, "prompts.json"); // as it is: parsing would change large integers
        return [];
      }
      const { files = [], problems } = await dataOf(api(tenant).GET("/v1/prompts/export", { params: { query } }));
      saveBlob(zipOf(files), `prompts-${format}.zip`);
      return problems;
    },
    onSuccess: (problems) => {
      toast("Prompts exported");
      if (problems.length === 0) onClose();
    },
  });
  return (
    <FormDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title="Export prompts"
      action="Export prompts"
      ready
      busy={run.isPending}
      error={run.error}
      onSubmit={() => run.mutate()}
      call={{ path: "/v1/prompts/export", query }}
    >
      <Field
        label="Format"
        hint={format === "json" ? "All versions, labels and ids. It can be imported again." : "An archive with one file for each prompt."}
      >
        <Select label="Format" value={format} choices={formats} onChange={setFormat} />
      </Field>
      <Field label="Names that begin with" hint="Empty: all prompts">
        <Input mono value={prefix} onChange={(e) => setPrefix(e.target.value.trim())} />
      </Field>
      <Field label="Versions" hint="The label of the version to export. Empty: all of them, or the newest where a file has one.">
        <Input mono placeholder="production" value={label} onChange={(e) => setLabel(e.target.value.trim())} />
      </Field>
      {run.data && run.data.length > 0 && (
        <div role="alert">
          <p className="mb-1">Exported, but the format cannot express these parts:</p>
          <Problems problems={run.data} />
        </div>
      )}
    </FormDialog>
  );
}
