import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, dataOf, readKey } from "@/api";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { IdLink } from "@/components/LinkedText";
import { toast } from "@/components/Toast";
import { formatBytes, plural } from "@/format";
import { downloadable, type File } from "./file";
import { useBatchesOf } from "./useBatchesOf";

interface Props {
  tenant: string;
  file: File;
  onClose: () => void;
  onDeleted: () => void;
}

/** Asks before a file is deleted: its size, what uses it, and that it cannot be undone. */
export function DeleteFileDialog({ tenant, file, onClose, onDeleted }: Props) {
  const queries = useQueryClient();
  const { batches, partial, pending } = useBatchesOf(tenant, file);
  const remove = useMutation({
    mutationFn: () => dataOf(api(tenant).DELETE("/v1/files/{id}", { params: { path: { id: file.id } } })),
    onSuccess: () => {
      toast("File deleted");
      onClose();
      onDeleted();
      for (const path of ["/v1/files", "/v1/storage"]) void queries.invalidateQueries({ queryKey: readKey(tenant, path) });
    },
  });
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title="Delete this file?"
      danger
      action="Delete file"
      effect={
        <div className="flex flex-col gap-2">
          <p>
            <span className="font-medium break-all">{file.filename}</span>, {formatBytes(file.bytes)}
            {downloadable(file) ? `, ${plural(file.lines, "line")}` : ""}.
          </p>
          <div className="text-13 text-ink-2">
            {!downloadable(file) ? (
              "Later requests that name the file fail."
            ) : batches.length === 0 ? (
              `No batch${partial ? " among the newest 100" : ""} names the file.`
            ) : (
              <>
                {plural(batches.length, "batch", "batches")} {batches.length === 1 ? "names" : "name"} the file:{" "}
                {batches.slice(0, 5).map((b) => (
                  <span key={b.id} className="mr-2">
                    <IdLink id={b.id} /> ({b.status.replaceAll("_", " ")})
                  </span>
                ))}
              </>
            )}{" "}
            The server refuses to delete a file that a running job still reads. Links to the file stop working.
          </div>
        </div>
      }
      undo="This cannot be undone. The audit trail keeps your name, the purpose and the size."
      waiting={pending}
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      call={{ method: "DELETE", path: `/v1/files/${file.id}` }}
    />
  );
}
