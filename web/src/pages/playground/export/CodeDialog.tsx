import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, dataOf, serverURL } from "@/api";
import { CodeView } from "@/components/CodeView";
import { Dialog } from "@/components/Dialog";
import { Select } from "@/components/Select";
import { Skeleton } from "@/components/Skeleton";
import { ErrorPanel } from "@/components/States";
import { Segments } from "@/components/Tabs";
import { letters } from "../setup/editor";
import { useEditor, usePlayground } from "../state";
import type { Message, Variables } from "../types";
import { useColumns } from "../useColumns";
import { type CodeCall, codeOf, type Language, languageNames, languages } from "./code";

/** The call of a column as code: a saved version or label by its name, other prompts as rendered messages of the shown row. */
export function CodeDialog({ column: first, onClose }: { column: number; onClose: () => void }) {
  const [language, setLanguage] = useState<Language>("curl");
  const [at, setAt] = useState(first);
  const count = useEditor((e) => e.columns.length);
  const { made } = useColumns();
  return (
    <Dialog
      open
      wide
      onOpenChange={(open) => !open && onClose()}
      title="Export as code"
      description="The call with the variables of the shown row. The key comes from the environment: PENSTOCK_KEY."
    >
      <div className="flex flex-col gap-3 pb-4">
        <div className="flex flex-wrap items-center gap-3">
          <Segments
            label="Language"
            value={language}
            tabs={languages.map((l) => ({ value: l, label: languageNames[l] }))}
            onChange={setLanguage}
          />
          {count > 1 && (
            <Select
              label="Column"
              value={String(at)}
              choices={letters.slice(0, count).map((letter, i) => ({ value: String(i), label: `Column ${letter}` }))}
              onChange={(i) => setAt(Number(i))}
            />
          )}
        </div>
        {made.setup ? <Code at={at} language={language} /> : <p className="text-amber">{made.problem}</p>}
      </div>
    </Dialog>
  );
}

function Code({ at, language }: { at: number; language: Language }) {
  const { tenant } = usePlayground();
  const { made, effective } = useColumns();
  const row = useEditor((e) => e.row);
  const column = useEditor((e) => e.columns[at]);
  const ref = column?.source.from === "prompt" && !column.source.ref.draft ? column.source.ref : null;
  const [asked] = useState(() => Date.now()); // the answer is for this dialog only: the setup may hold images of megabytes
  const rendered = useQuery({
    queryKey: [tenant, "/v1/playground/estimates", "code", asked, at],
    queryFn: async () => {
      if (!made.setup) throw new Error("There is no setup.");
      const one = { ...made.setup, rows: made.setup.rows.slice(row, row + 1), trials: 1, columns: made.setup.columns.slice(at, at + 1) };
      const estimate = await dataOf(api(tenant).POST("/v1/playground/estimates", { body: { setup: one } }));
      const found = estimate.columns[0];
      if (!found?.rendered) throw new Error(found?.error?.message ?? "The prompt was not rendered.");
      return found.rendered;
    },
    enabled: ref === null,
    retry: false,
    gcTime: 0,
  });
  if (rendered.error) return <ErrorPanel error={rendered.error} onRetry={() => void rendered.refetch()} />;
  if (!column || (ref === null && !rendered.data)) return <Skeleton className="h-40" />;
  const e = effective[at];
  const call: CodeCall = {
    server: serverURL(),
    model: e?.model ?? null,
    prompt: ref && {
      name: ref.name,
      ...(ref.version === undefined ? { label: ref.label ?? "production" } : { version: ref.version }),
      variables: (made.setup?.rows[row] ?? {}) as Variables,
    },
    messages: (rendered.data?.messages ?? []) as Message[],
    // A prompt by its name brings its own settings; only those of the column stand in the code.
    params: ref ? column.params : (e?.params ?? {}),
    tools: ref ? column.tools : (e?.tools ?? null),
    responseFormat: ref ? column.responseFormat : (e?.responseFormat ?? null),
  };
  return <CodeView label="Code" text={codeOf(language, call)} maxHeight={420} />;
}
