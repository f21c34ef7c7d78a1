import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { FileUp, Plus, Sparkles } from "lucide-react";
import { api, curlOf, dataOf, readKey } from "@/api";
import { Button } from "@/components/Button";
import { EmptyState, ErrorPanel } from "@/components/States";
import { useOneTenant } from "@/routes";
import { defaultLabel } from "./prompt";
import { sampleAnswer, sampleName, sampleTone, sampleToneName } from "./sample";

/** The registry is empty: a command, and a sample in one click. */
export function NoPrompts({ mayWrite, onAsk }: { mayWrite: boolean; onAsk: (what: "create" | "import") => void }) {
  const tenant = useOneTenant();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const sample = useMutation({
    mutationFn: async () => {
      const models = await dataOf(api(tenant).GET("/v1/model_definitions"));
      await saveSample(tenant, sampleToneName, sampleTone());
      await saveSample(tenant, sampleName, sampleAnswer(models.data[0]?.name));
    },
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/prompts") });
      void navigate({ to: "/t/$tenant/prompts/$", params: { tenant, _splat: sampleName }, search: {} });
    },
  });
  return (
    <EmptyState
      title="No prompts yet"
      command={curlOf({
        method: "POST",
        path: "/v1/prompts/support/answer/versions",
        body: { kind: "text", text: "Answer in {{language}}: {{question}}", message: "first version" },
      })}
      action={
        mayWrite && (
          <>
            <div className="flex flex-wrap gap-2">
              <Button icon={Sparkles} busy={sample.isPending} onClick={() => sample.mutate()}>
                Add the sample prompts
              </Button>
              <Button icon={Plus} onClick={() => onAsk("create")}>
                Create prompt…
              </Button>
              <Button icon={FileUp} onClick={() => onAsk("import")}>
                Import…
              </Button>
            </div>
            {sample.error && <ErrorPanel error={sample.error} />}
          </>
        )
      }
    >
      A prompt has versions that never change, and labels such as production that name one of them. Applications ask for a label, and you
      move it here. Save the first version with curl:
    </EmptyState>
  );
}

async function saveSample(tenant: string, name: string, body: ReturnType<typeof sampleAnswer>): Promise<void> {
  const { version } = await dataOf(api(tenant).POST("/v1/prompts/{name}/versions", { params: { path: { name } }, body }));
  await dataOf(
    api(tenant).PUT("/v1/prompts/{name}/labels/{label}", {
      params: { path: { name, label: defaultLabel } },
      body: { version, expect: 0, reason: "Sample" },
    }),
  );
}
