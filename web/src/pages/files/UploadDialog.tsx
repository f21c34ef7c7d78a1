import { FileUp, X } from "lucide-react";
import { useRef, useState } from "react";
import { Button, IconButton } from "@/components/Button";
import { copyText } from "@/components/Copy";
import { Dialog } from "@/components/Dialog";
import { Field } from "@/components/Field";
import { Select } from "@/components/Select";
import { formatBytes, plural } from "@/format";
import { likelyPurpose } from "./file";
import { UploadRow } from "./UploadRow";
import { uploadCommand } from "./uploadCommand";
import { useUploads } from "./useUploads";

const purposeChoices = [
  { value: "auto", label: "By the name of each file" },
  { value: "batch", label: "Batch: one request per line (JSONL)" },
  { value: "user_data", label: "Document: PDF, text or image" },
  { value: "vision", label: "Image" },
] as const;
const keepChoices = [
  { value: "0", label: "As long as the server keeps files" },
  { value: "86400", label: "1 day" },
  { value: "604800", label: "7 days" },
  { value: "2592000", label: "30 days" },
] as const;

/** Chooses files, purpose and expiry, and shows the progress of each upload. */
export function UploadDialog({ tenant, files, onClose }: { tenant: string; files: File[]; onClose: () => void }) {
  const [chosen, setChosen] = useState<File[]>(files);
  const [purpose, setPurpose] = useState<(typeof purposeChoices)[number]["value"]>("auto");
  const [keep, setKeep] = useState<(typeof keepChoices)[number]["value"]>("0");
  const uploads = useUploads(tenant);
  const started = uploads.list.length > 0;
  const purposeOf = (file: File) => (purpose === "auto" ? likelyPurpose(file.name) : purpose);
  const close = () => {
    uploads.stopAll();
    onClose();
  };
  const first = chosen[0];
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && close()}
      title="Upload files"
      footer={
        <>
          <Button
            look="ghost"
            className="mr-auto"
            onClick={() => void copyText(uploadCommand(first ? purposeOf(first) : "batch", first?.name), "Copied as curl")}
          >
            Copy as curl
          </Button>
          <Button onClick={close}>{uploads.busy ? "Stop uploads" : "Close"}</Button>
          {!started && (
            <Button
              look="accent"
              disabled={chosen.length === 0}
              onClick={() =>
                uploads.start(
                  chosen.map((file) => ({ file, purpose: purposeOf(file), ...(keep === "0" ? {} : { seconds: Number(keep) }) })),
                )
              }
            >
              {chosen.length === 0 ? "Upload" : `Upload ${plural(chosen.length, "file")}`}
            </Button>
          )}
        </>
      }
    >
      {started ? (
        <ul className="flex flex-col gap-3 pb-2">
          {uploads.list.map((u) => (
            <UploadRow key={u.id} upload={u} tenant={tenant} onStop={() => uploads.stop(u.id)} />
          ))}
        </ul>
      ) : (
        <div className="flex flex-col gap-3 pb-2">
          <ChooseFiles onChoose={(more) => setChosen((old) => [...old, ...more])} />
          <ul className="flex flex-col">
            {chosen.map((file, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: two chosen files may have the same name.
              <li key={i} className="flex min-h-8 items-center gap-2">
                <span className="min-w-0 flex-1 truncate">{file.name}</span>
                <span className="num text-12 text-ink-3">{formatBytes(file.size)}</span>
                <IconButton small icon={X} label={`Leave out ${file.name}`} onClick={() => setChosen(chosen.filter((_, at) => at !== i))} />
              </li>
            ))}
          </ul>
          <Field label="Purpose">
            <Select label="Purpose" value={purpose} choices={purposeChoices} onChange={setPurpose} />
          </Field>
          <Field label="Keep for">
            <Select label="Keep for" value={keep} choices={keepChoices} onChange={setKeep} />
          </Field>
        </div>
      )}
    </Dialog>
  );
}

function ChooseFiles({ onChoose }: { onChoose: (files: File[]) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button
        type="button"
        onClick={() => input.current?.click()}
        onDragOver={(e) => e.preventDefault()}
        onDrop={(e) => {
          e.preventDefault();
          e.stopPropagation(); // the page below takes files too
          onChoose([...e.dataTransfer.files]);
        }}
        className="flex flex-col items-center gap-1.5 rounded-card border border-dashed border-control bg-sunken px-4 py-6 text-ink-2 hover:border-accent hover:text-ink"
      >
        <FileUp aria-hidden className="size-5 text-ink-3" strokeWidth={1.75} />
        <span>
          Drop files here, or <span className="font-medium text-accent">choose files</span>
        </span>
      </button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to upload"
        onChange={(e) => {
          onChoose([...(e.target.files ?? [])]);
          e.target.value = "";
        }}
      />
    </>
  );
}
