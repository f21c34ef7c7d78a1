import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { api, dataOf, read, readKey, type Schemas } from "@/api";
import { Button } from "@/components/Button";
import { Switch } from "@/components/Checkbox";
import { CurlButton } from "@/components/Copy";
import { Dialog } from "@/components/Dialog";
import { Field, TextArea } from "@/components/Field";
import { LaneBars } from "@/components/LaneBars";
import { Select } from "@/components/Select";
import { ErrorPanel } from "@/components/States";
import { Segments } from "@/components/Tabs";
import { toast } from "@/components/Toast";
import { modKey } from "@/hooks/shortcuts";
import { DryRun } from "./DryRun";
import { lanes } from "./values";

type Order = Schemas["JobCreate"];
type Trial = Schemas["Trial"];

const laneTabs = lanes.map((lane) => ({ value: lane, label: <LaneBars lane={lane} /> }));

/** A value once it has not changed for a while. */
function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

/** Model, lane and prompt. The estimate of the server's dry run stands below before anything is spent. */
export function SubmitDialog({ tenant, onClose }: { tenant: string; onClose: () => void }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const models = useQuery(read(tenant, "/v1/model_definitions"));
  const [chosen, setChosen] = useState("");
  const [lane, setLane] = useState<(typeof lanes)[number]>("standard");
  const [prompt, setPrompt] = useState("");
  const [stream, setStream] = useState(true);
  const names = models.data?.data.map((m) => m.name) ?? [];
  const model = chosen || names[0] || "";
  const settled = useSettled(prompt, 400);

  const order: Order = { model, lane, input: prompt, stream };
  const trial = useQuery({
    queryKey: [tenant, "dry run", model, lane, settled],
    queryFn: ({ signal }) =>
      dataOf(api(tenant).POST("/v1/jobs", { body: { ...order, input: settled, dry_run: true }, signal })) as Promise<Trial>,
    enabled: model !== "" && settled.trim() !== "",
    placeholderData: keepPreviousData,
    gcTime: 0, // the key has the prompt
  });
  const submit = useMutation({
    mutationFn: () => dataOf(api(tenant).POST("/v1/jobs", { body: order })) as Promise<Schemas["Job"]>,
    onSuccess: (job) => {
      toast("Job accepted");
      void queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/jobs") });
      onClose();
      void navigate({ to: "/t/$tenant/jobs/$job", params: { tenant, job: job.id } });
    },
  });
  const known = prompt === settled && trial.data && !trial.isPlaceholderData;
  const ready = Boolean(known && trial.data?.admitted && !submit.isPending);
  return (
    <Dialog
      open
      wide
      onOpenChange={(next) => !next && onClose()}
      title="Submit a job"
      footer={
        <>
          <CurlButton withText call={{ method: "POST", path: "/v1/jobs", body: order }} />
          <Button look="accent" hint={`${modKey} ↵`} disabled={!ready} busy={submit.isPending} onClick={() => submit.mutate()}>
            Submit job
          </Button>
        </>
      }
    >
      <form
        className="flex flex-col gap-4"
        onKeyDown={(e) => {
          if (e.key === "Enter" && (e.metaKey || e.ctrlKey) && ready) submit.mutate();
        }}
      >
        <div className="flex flex-wrap items-end gap-4">
          <Field label="Model" className="min-w-56 flex-1">
            <Select label="Model" value={model} choices={names.map((name) => ({ value: name, label: name }))} onChange={setChosen} />
          </Field>
          <div className="flex flex-col gap-1">
            <span className="text-12 font-medium text-ink-2">Lane</span>
            <Segments label="Lane" value={lane} tabs={laneTabs} onChange={setLane} />
          </div>
        </div>
        <Field label="Prompt" hint="One inference. Jobs with many items, files and other settings are submitted over the API.">
          <TextArea rows={7} value={prompt} onChange={(e) => setPrompt(e.target.value)} />
        </Field>
        <span className="inline-flex items-center gap-2">
          <Switch label="Stream the answer" checked={stream} onChange={setStream} />
          <span className="text-ink-2">Stream the answer, so that the page shows it while it is written</span>
        </span>
        <DryRun trial={trial.data} busy={trial.isFetching || prompt !== settled} asked={settled.trim() !== ""} />
        {(models.error ?? trial.error ?? submit.error) && <ErrorPanel error={models.error ?? trial.error ?? submit.error} />}
      </form>
    </Dialog>
  );
}
