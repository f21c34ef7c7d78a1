import { useNavigate, useSearch } from "@tanstack/react-router";
import { Download, Ellipsis, FileUp, Plus } from "lucide-react";
import { useMemo, useState } from "react";
import { Button, IconButton } from "@/components/Button";
import { CurlItem } from "@/components/Copy";
import { later } from "@/components/later";
import { Menu, MenuItem } from "@/components/Menu";
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
const ImportDialog = later(() => import("./port/ImportDialog").then((m) => m.ImportDialog));
const ExportDialog = later(() => import("./port/ExportDialog").then((m) => m.ExportDialog));
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
  const [asking, setAsking] = useState<"create" | "import" | "export" | null>(null);
  useLive(tenant, promptTopics);
  useActions(
    useMemo(
      () => [
        ...(mayWrite
          ? [
              { id: "create-prompt", title: "Create a prompt…", note: "Action", icon: Plus, run: () => setAsking("create") },
              { id: "import-prompts", title: "Import prompts…", note: "Action", icon: FileUp, run: () => setAsking("import") },
            ]
          : []),
        { id: "export-prompts", title: "Export prompts…", note: "Action", icon: Download, run: () => setAsking("export") },
      ],
      [mayWrite],
    ),
  );
  const set = (change: SearchChange) =>
    void navigate({ search: (old) => ({ ...old, ...change }) as PromptsSearch, replace: change.folder === undefined });
  const view = search.view ?? "prompts";
  const folder = search.folder ?? "";
  const close = () => setAsking(null);
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <PageHead title="Prompts" live>
        <Menu trigger={<IconButton icon={Ellipsis} label="More actions" look="plain" />}>
          <MenuItem icon={Download} onSelect={() => setAsking("export")}>
            Export prompts…
          </MenuItem>
          <CurlItem call={{ path: view === "prompts" ? "/v1/prompts" : "/v1/prompt_protections" }} />
        </Menu>
        {mayWrite && view === "prompts" && (
          <>
            <Button icon={FileUp} onClick={() => setAsking("import")}>
              Import…
            </Button>
            <Button look="accent" icon={Plus} onClick={() => setAsking("create")}>
              Create prompt…
            </Button>
          </>
        )}
      </PageHead>
      <Tabs
        label="View"
        className="px-4 md:px-6"
        value={view}
        tabs={tabs}
        onChange={(next) => void navigate({ search: next === "prompts" ? {} : { view: next } })}
      />
      {view === "prompts" ? <PromptList search={search} onChange={set} onAsk={setAsking} mayWrite={mayWrite} /> : <Protections />}
      {asking === "create" && <CreateDialog folder={folder} onClose={close} />}
      {asking === "import" && <ImportDialog folder={folder} onClose={close} />}
      {asking === "export" && <ExportDialog folder={folder} onClose={close} />}
    </div>
  );
}
