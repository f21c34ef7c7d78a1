import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Upload } from "lucide-react";
import { type DragEvent, useMemo, useState } from "react";
import { readPages } from "@/api";
import { Button } from "@/components/Button";
import { CurlButton } from "@/components/Copy";
import { later } from "@/components/later";
import { EmptyState, ErrorPanel, NoMatch } from "@/components/States";
import { Tabs } from "@/components/Tabs";
import { DataTable } from "@/components/table/DataTable";
import { PageHead } from "@/frame/PageHead";
import { useOneTenant } from "@/routes";
import { useRole } from "@/session";
import { fileColumns } from "./columns";
import { FilePane } from "./FilePane";
import { purposeWords, type File as StoredFile } from "./file";
import { purposes } from "./route";
import { StorageMeter } from "./StorageMeter";
import { uploadCommand } from "./uploadCommand";

const UploadDialog = later(() => import("./UploadDialog").then((m) => m.UploadDialog));

const tabs = [{ value: "all", label: "All" }, ...purposes.map((p) => ({ value: p, label: purposeWords[p] }))] as const;

export function FilesPage() {
  const tenant = useOneTenant();
  const { id } = useParams({ strict: false });
  const { purpose } = useSearch({ from: "/frame/t/$tenant/files" });
  const navigate = useNavigate();
  const mayWrite = useRole(tenant, "developer");
  const [dropped, setDropped] = useState<File[] | null>(null);

  const query = useMemo(() => ({ limit: 100, ...(purpose ? { purpose } : {}) }), [purpose]);
  const files = useInfiniteQuery({ ...readPages(tenant, "/v1/files", query), placeholderData: keepPreviousData });
  const rows = useMemo(() => files.data?.pages.flatMap((p) => p.data as unknown as StoredFile[]) ?? [], [files.data]);
  const search = purpose ? { purpose } : {};
  const show = (file: string | null) =>
    file
      ? void navigate({ to: "/t/$tenant/files/$id", params: { tenant, id: file }, search, replace: true })
      : void navigate({ to: "/t/$tenant/files", params: { tenant }, search, replace: true });
  const choose = (next: "all" | (typeof purposes)[number]) =>
    void navigate({ to: "/t/$tenant/files", params: { tenant }, search: next === "all" ? {} : { purpose: next }, replace: true });
  return (
    <DropZone enabled={mayWrite} onDrop={setDropped}>
      <PageHead title="Files">
        <CurlButton call={{ path: "/v1/files", query }} />
        {mayWrite && (
          <Button look="accent" icon={Upload} onClick={() => setDropped([])}>
            Upload files…
          </Button>
        )}
      </PageHead>
      <div className="px-4 md:px-6">
        <StorageMeter tenant={tenant} />
      </div>
      <Tabs label="Purpose" className="px-4 md:px-6" value={purpose ?? "all"} tabs={tabs} onChange={choose} />
      {files.error ? (
        <ErrorPanel error={files.error} onRetry={() => void files.refetch()} />
      ) : (
        <div className="flex min-h-0 flex-1">
          <div className="flex min-h-0 min-w-0 flex-1 flex-col">
            <DataTable
              label="Files"
              columns={fileColumns}
              rows={rows}
              idOf={(f) => f.id}
              loading={files.isPending}
              refetching={files.isRefetching && !files.isFetchingNextPage}
              hasMore={files.hasNextPage}
              loadingMore={files.isFetchingNextPage}
              onMore={() => void files.fetchNextPage()}
              onOpen={(f) => show(f.id)}
              onPeek={(f) => show(f.id === id ? null : f.id)}
              open={id}
              onMove={(f) => id && show(f.id)}
              empty={purpose ? <NoMatch what="files" onClear={() => choose("all")} /> : <NoFiles />}
            />
          </div>
          {id && <FilePane key={id} id={id} onClose={() => show(null)} />}
        </div>
      )}
      {dropped && <UploadDialog tenant={tenant} files={dropped} onClose={() => setDropped(null)} />}
    </DropZone>
  );
}

function NoFiles() {
  return (
    <EmptyState title="No files yet" command={uploadCommand()}>
      Files hold the requests of batches, one per line, and the documents and images that requests name. Drop files here, or upload the
      first one with curl:
    </EmptyState>
  );
}

/** Takes files that a person drops anywhere on the page. */
function DropZone({ enabled, onDrop, children }: { enabled: boolean; onDrop: (files: File[]) => void; children: React.ReactNode }) {
  const [over, setOver] = useState(false);
  const holdsFiles = (e: DragEvent) => enabled && e.dataTransfer.types.includes("Files");
  return (
    <section
      aria-label="Files"
      className="relative flex min-h-0 flex-1 flex-col"
      onDragOver={(e) => {
        if (!holdsFiles(e)) return;
        e.preventDefault();
        setOver(true);
      }}
      onDragLeave={(e) => !(e.relatedTarget instanceof Node && e.currentTarget.contains(e.relatedTarget)) && setOver(false)}
      onDrop={(e) => {
        if (!holdsFiles(e)) return;
        e.preventDefault();
        setOver(false);
        onDrop([...e.dataTransfer.files]);
      }}
    >
      {children}
      {over && (
        <div className="pointer-events-none absolute inset-2 z-30 flex items-center justify-center rounded-card border-2 border-dashed border-accent bg-accent-tint text-16 font-medium text-accent opacity-95">
          Drop files to upload them
        </div>
      )}
    </section>
  );
}
