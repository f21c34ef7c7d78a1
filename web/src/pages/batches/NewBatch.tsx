import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Upload } from "lucide-react";
import { type ReactNode, useRef, useState } from "react";
import { api, curlOf, dataOf, read, readKey, type Schemas } from "@/api";
import { Button } from "@/components/Button";
import { copyText } from "@/components/Copy";
import { Dialog } from "@/components/Dialog";
import { Field, Input } from "@/components/Field";
import { Select } from "@/components/Select";
import { ErrorPanel } from "@/components/States";
import { toast } from "@/components/Toast";
import { formatBytes, plural } from "@/format";
import { bodyOf, type Choice, deadlineOf, endpoints, validWindow } from "./order";
import { Trial } from "./Trial";

type BatchFile = Schemas["File"];

interface Props {
  tenant: string;
  onClose: () => void;
  onMade: (batch: string) => void;
}

/** Chooses a file, shows by a dry run what it would cost, then submits it. */
export function NewBatch({ tenant, onClose, onMade }: Props) {
  const queries = useQueryClient();
  const [choice, setChoice] = useState<Choice>({ file: "", endpoint: "/v1/chat/completions", lane: "bulk", window: "24h", name: "" });
  const set = (change: Partial<Choice>) => {
    setChoice((old) => ({ ...old, ...change }));
    trial.reset();
  };
  const files = useQuery(read(tenant, "/v1/files", { params: { query: { purpose: "batch", limit: 100 } } }));
  const uploaded = (files.data && "data" in files.data ? (files.data.data as BatchFile[]) : []).filter((f) => "purpose" in f);
  const chosen = uploaded.find((f) => f.id === choice.file);

  const trial = useMutation({
    mutationFn: async (of: Choice) => {
      const { data } = await api(tenant).POST("/v1/jobs", {
        body: { input_file: of.file, endpoint: of.endpoint, lane: of.lane, deadline: deadlineOf(of.window), dry_run: true },
      });
      return data as unknown as Schemas["Trial"];
    },
  });
  const submit = useMutation({
    mutationFn: () => submitBatch(tenant, choice),
    onSuccess: (id) => {
      toast("Batch submitted");
      void queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/batches/progress") });
      onMade(id);
    },
  });
  const ready = choice.file !== "" && validWindow(choice.window);
  const call = bodyOf(choice);
  return (
    <Dialog
      open
      wide
      onOpenChange={(open) => !open && onClose()}
      title="New batch"
      description="Every line of the file is one request. The dry run counts the lines and bounds the cost; nothing is stored until you submit."
      footer={
        <>
          <Button look="ghost" className="mr-auto" disabled={!ready} onClick={() => void copyText(curlOf(call), "Copied as curl")}>
            Copy as curl
          </Button>
          <Button disabled={!ready} busy={trial.isPending} onClick={() => trial.mutate(choice)}>
            {trial.data ? "Dry run again" : "Dry run"}
          </Button>
          <Button look="accent" disabled={!ready || !trial.data?.admitted} busy={submit.isPending} onClick={() => submit.mutate()}>
            Submit batch
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4 pb-2">
        <FileChoice tenant={tenant} files={uploaded} chosen={chosen} onChoose={(file) => set({ file })} />
        <div className="grid gap-3 md:grid-cols-3">
          <Labelled label="Endpoint">
            <Select
              label="Endpoint"
              value={choice.endpoint}
              choices={endpoints.map((e) => ({ value: e, label: e }))}
              onChange={(endpoint) => set({ endpoint })}
            />
          </Labelled>
          <Labelled label="Lane">
            <Select
              label="Lane"
              value={choice.lane}
              choices={[
                { value: "bulk", label: "bulk, as an OpenAI batch" },
                { value: "standard", label: "standard, as a job" },
                { value: "realtime", label: "realtime, as a job" },
              ]}
              onChange={(lane) => set({ lane })}
            />
          </Labelled>
          <Field
            label="Window"
            hint="Open items expire then: 90m, 24h, 168h"
            error={validWindow(choice.window) ? null : "A duration such as 90m or 24h, up to 720h."}
          >
            <Input value={choice.window} onChange={(e) => set({ window: e.target.value })} />
          </Field>
        </div>
        {choice.lane === "bulk" && (
          <Field label="Name" hint="Optional; stored in the metadata of the batch">
            <Input value={choice.name} maxLength={200} onChange={(e) => setChoice((old) => ({ ...old, name: e.target.value }))} />
          </Field>
        )}
        {files.error && <ErrorPanel error={files.error} onRetry={() => void files.refetch()} />}
        {trial.error && <ErrorPanel error={trial.error} />}
        {trial.data && <Trial trial={trial.data} />}
        {submit.error && <ErrorPanel error={submit.error} />}
      </div>
    </Dialog>
  );
}

async function submitBatch(tenant: string, choice: Choice): Promise<string> {
  const call = bodyOf(choice);
  if (call.path === "/v1/batches") return (await dataOf(api(tenant).POST("/v1/batches", { body: call.body }))).id;
  const job = await dataOf(api(tenant).POST("/v1/jobs", { body: call.body }));
  return (job as { id: string }).id;
}

function Labelled({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="flex flex-col gap-1">
      <span aria-hidden className="text-12 font-medium text-ink-2">
        {label}
      </span>
      {children}
    </div>
  );
}

interface FileChoiceProps {
  tenant: string;
  files: readonly BatchFile[];
  chosen: BatchFile | undefined;
  onChoose: (file: string) => void;
}

/** One of the uploaded files, or a new upload. */
function FileChoice({ tenant, files, chosen, onChoose }: FileChoiceProps) {
  const queries = useQueryClient();
  const input = useRef<HTMLInputElement>(null);
  const upload = useMutation({
    mutationFn: async (file: File) => {
      const form = new FormData();
      form.set("purpose", "batch");
      form.set("file", file);
      const call = api(tenant).POST("/v1/files", { body: form as never, bodySerializer: (body) => body as unknown as FormData });
      return (await dataOf(call)) as unknown as BatchFile;
    },
    onSuccess: async (file) => {
      await queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/files") });
      onChoose(file.id);
    },
  });
  const none = { value: "", label: files.length === 0 ? "No file with purpose batch is uploaded" : "Choose a file" };
  const words = (f: BatchFile) => `${f.filename} · ${plural(f.lines, "line")} · ${formatBytes(f.bytes)}`;
  return (
    <Labelled label="File">
      <div className="flex flex-wrap items-center gap-2">
        <Select
          label="File"
          className="min-w-0 flex-1"
          value={chosen?.id ?? ""}
          choices={[none, ...files.map((f) => ({ value: f.id, label: words(f) }))]}
          onChange={onChoose}
        />
        <Button icon={Upload} busy={upload.isPending} onClick={() => input.current?.click()}>
          Upload a file…
        </Button>
        <input
          ref={input}
          type="file"
          accept=".jsonl,.ndjson,application/x-ndjson,application/jsonl"
          aria-label="File to upload"
          className="sr-only"
          tabIndex={-1}
          onChange={(e) => {
            const file = e.target.files?.[0];
            if (file) upload.mutate(file);
            e.target.value = "";
          }}
        />
      </div>
      {chosen && chosen.error_count > 0 && (
        <p role="alert" className="text-12 text-red">
          {plural(chosen.error_count, "line is", "lines are")} invalid: {chosen.status_details}
        </p>
      )}
      {upload.error && <ErrorPanel error={upload.error} />}
    </Labelled>
  );
}
