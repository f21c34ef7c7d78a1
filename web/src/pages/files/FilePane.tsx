import { useQuery } from "@tanstack/react-query";
import { Download, Link2, Trash2 } from "lucide-react";
import { useState } from "react";
import { read } from "@/api";
import { Button } from "@/components/Button";
import { CurlButton } from "@/components/Copy";
import { FullId } from "@/components/Id";
import { KeyValue, PaneSection } from "@/components/KeyValue";
import { IdLink } from "@/components/LinkedText";
import { later } from "@/components/later";
import { Peek } from "@/components/Peek";
import { Skeleton } from "@/components/Skeleton";
import { ErrorPanel } from "@/components/States";
import { Time } from "@/components/Time";
import { formatBytes, formatCount } from "@/format";
import { useOneTenant } from "@/routes";
import { useRole } from "@/session";
import { FileState } from "./columns";
import { downloadable, type File, isoOf, purposeWords } from "./file";
import { useBatchesOf } from "./useBatchesOf";
import { useDownload } from "./useDownload";

const DeleteFileDialog = later(() => import("./DeleteFileDialog").then((m) => m.DeleteFileDialog));
const LinkDialog = later(() => import("./LinkDialog").then((m) => m.LinkDialog));

/** One file: its facts, its invalid lines, the batches that use it, and what can be done with it. */
export function FilePane({ id, onClose }: { id: string; onClose: () => void }) {
  const tenant = useOneTenant();
  const file = useQuery(read(tenant, "/v1/files/{id}", { params: { path: { id } } }));
  const data = file.data as File | undefined;
  return (
    <Peek
      label="File"
      title={data ? <span className="truncate font-semibold">{data.filename}</span> : <Skeleton className="w-32" />}
      actions={<CurlButton call={{ path: `/v1/files/${id}` }} />}
      onClose={onClose}
    >
      {file.error ? (
        <ErrorPanel error={file.error} onRetry={() => void file.refetch()} />
      ) : (
        data && <Body tenant={tenant} file={data} onDeleted={onClose} />
      )}
    </Peek>
  );
}

function Body({ tenant, file, onDeleted }: { tenant: string; file: File; onDeleted: () => void }) {
  return (
    <>
      <div className="flex flex-col gap-2 border-b border-line px-5 py-2.5">
        <FullId id={file.id} />
        <Acts tenant={tenant} file={file} onDeleted={onDeleted} />
      </div>
      <PaneSection title="File">
        <KeyValue
          facts={[
            { name: "State", value: <FileState file={file} /> },
            { name: "Purpose", value: purposeWords[file.purpose] },
            { name: "Size", value: <span className="num">{formatBytes(file.bytes)}</span>, copy: String(file.bytes) },
            ...(downloadable(file) ? [{ name: "Lines", value: <span className="num">{formatCount(file.lines)}</span> }] : []),
            ...(file.media_type ? [{ name: "Type", value: file.media_type, copy: file.media_type }] : []),
            ...(file.sha256
              ? [{ name: "SHA-256", value: <span className="font-mono text-12">{file.sha256}</span>, copy: file.sha256 }]
              : []),
            { name: "Created", value: <Time iso={isoOf(file.created_at)} />, copy: isoOf(file.created_at) },
            { name: "Expires", value: <Time iso={isoOf(file.expires_at)} />, copy: isoOf(file.expires_at) },
          ]}
        />
      </PaneSection>
      <Batches tenant={tenant} file={file} />
      {file.errors && file.errors.data.length > 0 && <LineErrors file={file} />}
    </>
  );
}

function Acts({ tenant, file, onDeleted }: { tenant: string; file: File; onDeleted: () => void }) {
  const [dialog, setDialog] = useState<"link" | "delete" | null>(null);
  const mayRead = useRole(tenant, "developer", "reviewer");
  const mayWrite = useRole(tenant, "developer");
  const download = useDownload(tenant, file.id);
  return (
    <>
      <div className="flex flex-wrap gap-2">
        {mayRead && downloadable(file) && (
          <>
            <Button small icon={Download} busy={download.isPending} onClick={() => download.mutate()}>
              Download file
            </Button>
            <Button small icon={Link2} onClick={() => setDialog("link")}>
              Make link…
            </Button>
          </>
        )}
        {mayWrite && (
          <Button small look="danger" icon={Trash2} onClick={() => setDialog("delete")}>
            Delete file…
          </Button>
        )}
      </div>
      {!downloadable(file) && <p className="text-12 text-ink-3">Only models read this file. It cannot be downloaded.</p>}
      {download.error && <ErrorPanel error={download.error} />}
      {dialog === "link" && <LinkDialog tenant={tenant} file={file} onClose={() => setDialog(null)} />}
      {dialog === "delete" && <DeleteFileDialog tenant={tenant} file={file} onClose={() => setDialog(null)} onDeleted={onDeleted} />}
    </>
  );
}

function Batches({ tenant, file }: { tenant: string; file: File }) {
  const { batches, partial } = useBatchesOf(tenant, file);
  if (!downloadable(file) || batches.length === 0) return null;
  return (
    <PaneSection title="Batches" aside={partial ? "among the newest 100" : ""}>
      <ul className="flex flex-col gap-1">
        {batches.map((b) => (
          <li key={b.id} className="flex min-h-7 items-center justify-between gap-3">
            <IdLink id={b.id} />
            <span className="text-12 text-ink-3">{b.status.replaceAll("_", " ")}</span>
          </li>
        ))}
      </ul>
    </PaneSection>
  );
}

function LineErrors({ file }: { file: File }) {
  const errors = file.errors?.data ?? [];
  const more = file.error_count > errors.length ? `first ${formatCount(errors.length)} of ${formatCount(file.error_count)}` : undefined;
  return (
    <PaneSection title="Invalid lines" aside={more}>
      <ul className="flex flex-col gap-1.5">
        {errors.map((e) => (
          <li key={`${e.line}-${e.param ?? ""}-${e.code}`} className="text-12/5">
            <span className="num font-medium">Line {formatCount(e.line)}</span> <span className="font-mono text-red">{e.code}</span>{" "}
            <span className="break-words text-ink-2">{e.message}</span>
          </li>
        ))}
      </ul>
    </PaneSection>
  );
}
