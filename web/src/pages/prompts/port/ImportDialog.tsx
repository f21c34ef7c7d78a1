import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { FileUp, X } from "lucide-react";
import { useEffect, useId, useState } from "react";
import { api, curlOf, dataOf, type Schemas } from "@/api";
import { Button, IconButton } from "@/components/Button";
import { Checkbox } from "@/components/Checkbox";
import { copyText } from "@/components/Copy";
import { Dialog } from "@/components/Dialog";
import { Field, Input, TextArea } from "@/components/Field";
import { Select } from "@/components/Select";
import { ErrorPanel } from "@/components/States";
import { Segments } from "@/components/Tabs";
import { toast } from "@/components/Toast";
import { plural } from "@/format";
import { useOneTenant } from "@/routes";
import { useReread } from "../acts";
import { formats } from "./formats";
import { Outcome } from "./Outcome";

type Order = Schemas["PromptImportOrder"];
type File1 = Schemas["PromptFile"];

const sources = [
  { value: "files", label: "Files" },
  { value: "text", label: "Text" },
] as const;

const formatChoices = [{ value: "", label: "Find out" }, ...formats];
const settleMs = 400;

/** Imports prompts from files or from a text. A dry run of the server shows the result of each prompt before anything is changed. */
export function ImportDialog({ folder, onClose }: { folder: string; onClose: () => void }) {
  const tenant = useOneTenant();
  const reread = useReread(tenant);
  const [source, setSource] = useState<"files" | "text">("files");
  const [chosen, setChosen] = useState<readonly File1[]>([]);
  const [text, setText] = useState("");
  const [path, setPath] = useState("");
  const [format, setFormat] = useState("");
  const [prefix, setPrefix] = useState(folder);
  const [move, setMove] = useState(false);
  const [allow, setAllow] = useState(false);
  const files = source === "files" ? chosen : text.trim() === "" ? [] : [{ path: path.trim() || "pasted.prompt", text }];
  const order: Order = {
    files: [...files],
    ...(format ? { format } : {}),
    ...(prefix ? { prefix } : {}),
    ...(move ? { labels: "move" } : {}),
    ...(allow ? { allow_problems: true } : {}),
  };
  const asked = useSettled(JSON.stringify(order));
  const trial = useQuery({
    queryKey: [tenant, "import", asked],
    queryFn: ({ signal }) =>
      dataOf(api(tenant).POST("/v1/prompts/import", { body: { ...(JSON.parse(asked) as Order), dry_run: true }, signal })),
    enabled: files.length > 0 && asked === JSON.stringify(order),
    placeholderData: keepPreviousData,
    retry: false,
    gcTime: 0, // the key has the files
  });
  const known = files.length > 0 && asked === JSON.stringify(order) && !trial.isPlaceholderData ? trial.data : undefined;
  const good = known?.prompts.filter((p) => p.state === "created" || p.state === "updated").length ?? 0;
  const run = useMutation({
    mutationFn: () => dataOf(api(tenant).POST("/v1/prompts/import", { body: order })),
    onSuccess: (done) => {
      const failed = done.prompts.filter((p) => p.state === "failed").length;
      toast(
        `${plural(done.prompts.length - failed, "prompt")} imported`,
        failed > 0 ? { description: `${plural(failed, "prompt")} failed.` } : {},
      );
      if (failed === 0) onClose();
    },
    onSettled: reread,
  });
  return (
    <Dialog
      open
      wide
      onOpenChange={(open) => !open && onClose()}
      title="Import prompts"
      description="From dotprompt, promptfoo, OpenAI, Langfuse, a directory of prompts, or an export of Penstock."
      footer={
        <>
          <Button
            look="ghost"
            className="mr-auto"
            onClick={() => void copyText(curlOf({ method: "POST", path: "/v1/prompts/import", body: order }), "Copied as curl")}
          >
            Copy as curl
          </Button>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="accent" busy={run.isPending} disabled={good === 0} onClick={() => run.mutate()}>
            {good === 0 ? "Import prompts" : `Import ${plural(good, "prompt")}`}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4 pb-2">
        <div>
          <Segments label="Source" value={source} tabs={sources} onChange={setSource} />
        </div>
        {source === "files" ? (
          <Files files={chosen} onChange={setChosen} />
        ) : (
          <>
            <Field label="Text">
              <TextArea mono rows={6} spellCheck={false} value={text} onChange={(e) => setText(e.target.value)} />
            </Field>
            <Field label="Name of the file" hint="In some formats it is the name of the prompt: support/answer.prompt.">
              <Input mono placeholder="pasted.prompt" value={path} onChange={(e) => setPath(e.target.value)} />
            </Field>
          </>
        )}
        <div className="flex flex-wrap items-start gap-3">
          <Field label="Format" className="min-w-48">
            <Select label="Format" value={format} choices={formatChoices} onChange={setFormat} />
          </Field>
          <Field label="Folder" hint="In front of every name" className="min-w-48 flex-1">
            <Input mono placeholder="support/" value={prefix} onChange={(e) => setPrefix(e.target.value.trim())} />
          </Field>
        </div>
        <div className="flex flex-col gap-1">
          <Checkbox label="Move labels that name another version now" showLabel checked={move} onChange={setMove} />
          <Checkbox label="Keep constructs that cannot be translated as literal text" showLabel checked={allow} onChange={setAllow} />
        </div>
        {trial.error && files.length > 0 && <ErrorPanel error={trial.error} />}
        {known && !run.data && <Outcome report={known} />}
        {run.error && <ErrorPanel error={run.error} />}
        {run.data && <Outcome report={run.data} />}
      </div>
    </Dialog>
  );
}

/** The chosen files, which a person can also drop here. */
function Files({ files, onChange }: { files: readonly File1[]; onChange: (files: readonly File1[]) => void }) {
  const id = useId();
  const take = async (list: FileList | null) => {
    const read = await Promise.all([...(list ?? [])].map(async (f) => ({ path: f.webkitRelativePath || f.name, text: await f.text() })));
    onChange([...files.filter((f) => !read.some((r) => r.path === f.path)), ...read]);
  };
  return (
    <div>
      <label
        htmlFor={id}
        onDragOver={(e) => e.preventDefault()}
        onDrop={(e) => {
          e.preventDefault();
          void take(e.dataTransfer.files);
        }}
        className="flex cursor-pointer flex-col items-center gap-1 rounded-card border border-dashed border-control px-4 py-6 text-center hover:bg-hover has-focus-visible:outline-2 has-focus-visible:outline-focus"
      >
        <FileUp aria-hidden className="size-5 text-ink-3" strokeWidth={1.75} />
        <span className="font-medium text-accent">Choose files</span>
        <span className="text-12 text-ink-3">or drop them here</span>
        <input id={id} type="file" multiple className="sr-only" onChange={(e) => void take(e.target.files)} />
      </label>
      <ul className="mt-2 max-h-40 overflow-y-auto">
        {files.map((f) => (
          <li key={f.path} className="flex min-h-7 items-center gap-2">
            <span className="min-w-0 flex-1 truncate font-mono text-12">{f.path}</span>
            <IconButton small icon={X} label={`Leave out ${f.path}`} onClick={() => onChange(files.filter((one) => one !== f))} />
          </li>
        ))}
      </ul>
    </div>
  );
}

/** A text once it has not changed for a while. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), settleMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
