import { useNavigate, useSearch } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useMemo, useState } from "react";
import { Button } from "@/components/Button";
import { CurlButton } from "@/components/Copy";
import { later } from "@/components/later";
import { Tabs } from "@/components/Tabs";
import { PageHead } from "@/frame/PageHead";
import { useActions } from "@/frame/useActions";
import { useLive } from "@/live";
import { useOneTenant } from "@/routes";
import { useRole } from "@/session";
import { PromptList } from "./PromptList";
import { promptTopics, writers } from "./prompt";
import type { PromptsSearch } from "./route";

const CreateDialog = later(() => import("./CreateDialog").then((m) => m.CreateDialog));
const Protections = later(() => import("./Protections").then((m) => m.Protections));

const tabs = [
  { value: "prompts", label: "Prompts" },
  { value: "protections", label: "Protected labels" },
] as const;

export type SearchChange = Partial<Record<keyof PromptsSearch, string | undefined>>;

export function PromptsPage() {
  const tenant = useOneTenant();
  const search = useSearch({ from: "/frame/t/$tenant/prompts/" });
  const navigate = useNavigate({ from: "/t/$tenant/prompts/" });
  const mayWrite = useRole(tenant, ...writers);
  const [creating, setCreating] = useState(false);
  useLive(tenant, promptTopics);
  useActions(
    useMemo(
      () =>
        mayWrite ? [{ id: "create-prompt", title: "Create a prompt…", note: "Action", icon: Plus, run: () => setCreating(true) }] : [],
      [mayWrite],
    ),
  );
  const set = (change: SearchChange) =>
    void navigate({ search: (old) => ({ ...old, ...change }) as PromptsSearch, replace: change.folder === undefined });
  const view = search.view ?? "prompts";
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <PageHead title="Prompts" live>
        <CurlButton call={{ path: view === "prompts" ? "/v1/prompts" : "/v1/prompt_protections" }} />
        {mayWrite && view === "prompts" && (
          <Button look="accent" icon={Plus} onClick={() => setCreating(true)}>
            Create prompt…
          </Button>
        )}
      </PageHead>
      <Tabs
        label="View"
        className="px-4 md:px-6"
        value={view}
        tabs={tabs}
        onChange={(next) => void navigate({ search: next === "prompts" ? {} : { view: next } })}
      />
      {view === "prompts" ? (
        <PromptList search={search} onChange={set} onCreate={() => setCreating(true)} mayWrite={mayWrite} />
      ) : (
        <Protections />
      )}
      {creating && <CreateDialog folder={search.folder ?? ""} onClose={() => setCreating(false)} />}
    </div>
  );
}
