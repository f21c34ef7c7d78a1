import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { curlOf, read, serverURL } from "@/api";
import { shellWord } from "@/api/curl";
import { Command } from "@/components/States";

/** The model of the examples: the first that the tenant may use. */
function useModel(tenant: string): string {
  const { data } = useQuery(read(tenant, "/v1/models"));
  const models = data && "data" in data ? data.data : [];
  return (models[0] as { id?: string } | undefined)?.id ?? "fast";
}

/** Three steps on an empty server, in the place of empty charts. The page changes by itself when the first call arrives. */
export function FirstRun({ tenant }: { tenant: string }) {
  const model = useModel(tenant);
  const messages = [{ role: "user", content: "Say hello." }];
  const call = curlOf({ method: "POST", path: "/v1/chat/completions", body: { model, messages } });
  const job = curlOf({ method: "POST", path: "/v1/jobs", body: { model, inputs: ["Say hello.", "Say goodbye."] } });
  return (
    <div className="flex max-w-3xl flex-col gap-6 py-2">
      <div>
        <h2 className="text-16 font-semibold">Nothing has happened in {tenant} yet</h2>
        <p className="mt-1 text-14 text-ink-2">
          Three commands show what Penstock does. Put a key of this tenant into the environment first:{" "}
          <code className="font-mono text-12">export PENSTOCK_KEY=psk_…</code> This page changes when the first call arrives.
        </p>
      </div>
      <ol className="flex flex-col gap-6">
        <Step number={1} title="Make a synchronous call" command={call}>
          The API of OpenAI: Penstock chooses a target, and answers when the model does.
        </Step>
        <Step number={2} title="Submit a job" command={job}>
          Accepted at once, stored, and run when there is capacity. The answer has the id of the job.
        </Step>
        <Step number={3} title="Upload a file and run it as a batch" command={batchCommand(model)}>
          One request in each line, as many lines as you like. The batch runs in the bulk lane within 24 hours.
        </Step>
      </ol>
    </div>
  );
}

function Step({ number, title, command, children }: { number: number; title: string; command: string; children: ReactNode }) {
  return (
    <li className="flex gap-3">
      <span
        aria-hidden
        className="num flex size-6 shrink-0 items-center justify-center rounded-full bg-accent-tint text-12 font-semibold text-accent"
      >
        {number}
      </span>
      <div className="flex min-w-0 flex-1 flex-col gap-2">
        <div>
          <h3 className="text-14 font-semibold">{title}</h3>
          <p className="text-ink-2">{children}</p>
        </div>
        <Command text={command} />
      </div>
    </li>
  );
}

/** Writes a file of two lines, uploads it, and runs it. */
function batchCommand(model: string): string {
  const line = (n: number) =>
    JSON.stringify({
      custom_id: `line-${n}`,
      method: "POST",
      url: "/v1/chat/completions",
      body: { model, messages: [{ role: "user", content: `Count to ${n}.` }] },
    });
  const key = '-H "Authorization: Bearer $PENSTOCK_KEY"';
  return [
    `printf '%s\\n' ${shellWord(line(1))} \\\n  ${shellWord(line(2))} > batch.jsonl`,
    `FILE=$(curl -s ${shellWord(`${serverURL()}/v1/files`)} ${key} \\\n  -F purpose=batch -F file=@batch.jsonl | sed 's/.*"id":"\\([^"]*\\)".*/\\1/')`,
    `curl ${shellWord(`${serverURL()}/v1/batches`)} ${key} -H 'Content-Type: application/json' \\\n  -d '{"input_file_id":"'$FILE'","endpoint":"/v1/chat/completions","completion_window":"24h"}'`,
  ].join("\n");
}
