import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { ArchiveRestore, FilePen, FlaskConical, Rocket } from "lucide-react";
import { useMemo, useState } from "react";
import { ApiError, read } from "@/api";
import { Button } from "@/components/Button";
import { Chip } from "@/components/Chip";
import { later } from "@/components/later";
import { Skeleton, useSlow } from "@/components/Skeleton";
import { ErrorPanel } from "@/components/States";
import { Tabs } from "@/components/Tabs";
import { TimeAgo } from "@/components/Time";
import { formatCount } from "@/format";
import { WithPane } from "@/frame/Page";
import { PageHead } from "@/frame/PageHead";
import { useActions } from "@/frame/useActions";
import { useShortcuts } from "@/hooks/shortcuts";
import { useLive } from "@/live";
import { useOneTenant } from "@/routes";
import { useRole } from "@/session";
import { LabelState, NameTitle } from "./Names";
import { PromptActs, useRestore } from "./PromptActs";
import { PromptPane } from "./PromptPane";
import { playgroundLink, usePlaygroundServed } from "./playground";
import { latestLabel, movers, nameProblem, type Prompt, promptTopics, writers } from "./prompt";
import type { PromptSearch } from "./route";
import { type SearchSetter, VersionsTab } from "./VersionsTab";

const DraftTab = later(() => import("./draft/DraftTab").then((m) => m.DraftTab));
const PromoteDialog = later(() => import("./PromoteDialog").then((m) => m.PromoteDialog));

const from = "/frame/t/$tenant/prompts/$";

export function PromptPage() {
  const tenant = useOneTenant();
  const { _splat: name = "" } = useParams({ from });
  const wrong = nameProblem(name) !== null; // such a name is not sent: it could be another path of the API
  const prompt = useQuery({ ...read(tenant, "/v1/prompts/{name}", { params: { path: { name } } }), enabled: !wrong });
  useLive(tenant, promptTopics);
  const slow = useSlow(prompt.isPending && !wrong);
  const error = wrong ? new ApiError(404, { code: "not_found", message: "No prompt can have this name." }, null) : prompt.error;
  if (prompt.data) return <PromptBody key={name} prompt={prompt.data} />;
  return (
    <>
      <PageHead title={wrong ? "Prompt" : <NameTitle name={name} />} name={name} live />
      {error && <ErrorPanel error={error} onRetry={() => void prompt.refetch()} />}
      {slow && (
        <div className="flex flex-col gap-4 p-6">
          <Skeleton className="h-9" />
          <Skeleton className="h-64 w-2/3" />
        </div>
      )}
    </>
  );
}

interface Promotion {
  version: number;
  label?: string;
}

function PromptBody({ prompt }: { prompt: Prompt }) {
  const tenant = useOneTenant();
  const search = useSearch({ from });
  const navigate = useNavigate({ from: "/t/$tenant/prompts/$" });
  const mayWrite = useRole(tenant, ...writers) && !prompt.archived_at;
  const mayMove = useRole(tenant, ...movers) && !prompt.archived_at;
  const [promoting, setPromoting] = useState<Promotion | null>(null);
  const set: SearchSetter = (change) =>
    void navigate({ search: (old) => ({ ...old, ...change }) as PromptSearch, replace: !("tab" in change) });
  const tab = search.tab ?? (prompt.latest === null && prompt.versions === 0 ? "draft" : "versions");
  const chosen = search.version ? Number(search.version) : prompt.latest;
  const version = tab === "versions" ? chosen : null;
  const promote = version !== null && mayMove ? () => setPromoting({ version }) : null;
  const edit = () => set({ tab: "draft", from: undefined, to: undefined });
  useShortcuts({ e: () => (mayWrite ? edit() : false), p: () => (promote ? promote() : false) });
  const canPromote = promote !== null;
  useActions(
    useMemo(
      () =>
        canPromote && version !== null
          ? [{ id: "promote", title: `Promote v${version}…`, note: "Action", icon: Rocket, run: () => setPromoting({ version }) }]
          : [],
      [canPromote, version],
    ),
  );
  const show = (n: number) => set({ tab: "versions", version: String(n), from: undefined, to: undefined });
  return (
    <>
      <PageHead
        title={<NameTitle name={prompt.name} />}
        name={prompt.name}
        live
        state={
          <>
            <Chip>{prompt.kind}</Chip>
            {prompt.archived_at && <Chip hue="amber">archived</Chip>}
          </>
        }
        detail={<Detail prompt={prompt} />}
      >
        <PlaygroundLink prompt={prompt} version={version} />
        <PromptActs prompt={prompt} version={version} onDraft={edit} />
        {tab === "versions" && mayWrite && (
          <Button icon={FilePen} hint="E" onClick={edit}>
            {prompt.draft === null ? "Edit as draft" : "Open draft"}
          </Button>
        )}
        {promote && (
          <Button look="accent" icon={Rocket} hint="P" onClick={promote}>
            Promote v{version}…
          </Button>
        )}
      </PageHead>
      {prompt.archived_at && <ArchivedNote prompt={prompt} />}
      <Tabs
        label="Prompt"
        className="px-4 md:px-6"
        value={tab}
        tabs={[
          { value: "versions", label: "Versions", count: formatCount(prompt.versions) },
          { value: "draft", label: "Draft", ...(prompt.draft === null ? {} : { icon: <DraftDot /> }) },
        ]}
        onChange={(next) => set({ tab: next, from: undefined, to: undefined })}
      />
      {tab === "draft" ? (
        <DraftTab key={prompt.name} prompt={prompt} base={chosen} mayWrite={mayWrite} onSaved={show} />
      ) : (
        <WithPane pane={<PromptPane prompt={prompt} onMove={(n, label) => setPromoting({ version: n, label })} onShow={show} />}>
          <VersionsTab prompt={prompt} search={search} onSearch={set} />
        </WithPane>
      )}
      {promoting && (
        <PromoteDialog prompt={prompt} version={promoting.version} label={promoting.label} onClose={() => setPromoting(null)} />
      )}
    </>
  );
}

function Detail({ prompt }: { prompt: Prompt }) {
  const labels = prompt.labels.filter((l) => l.label !== latestLabel);
  return (
    <>
      {labels.slice(0, 6).map((l) => (
        <LabelState key={l.label} label={l} latest={prompt.latest} />
      ))}
      {labels.length > 6 && <span className="text-ink-3">+{labels.length - 6}</span>}
      <span className="text-ink-3">
        {labels.length > 0 && "· "}Updated <TimeAgo iso={prompt.updated_at} suffix=" ago" />
      </span>
    </>
  );
}

function DraftDot() {
  return (
    <>
      <span aria-hidden className="size-1.5 rounded-full bg-violet-solid" />
      <span className="sr-only">There is a draft:</span>
    </>
  );
}

function PlaygroundLink({ prompt, version }: { prompt: Prompt; version: number | null }) {
  const tenant = useOneTenant();
  const served = usePlaygroundServed();
  if (!served || (version === null && prompt.draft === null)) return null;
  return (
    <Link
      {...(playgroundLink(tenant, prompt.name, version) as unknown as { to: "/" })}
      className="inline-flex h-[30px] items-center gap-1.5 rounded-control border border-line-2 bg-surface px-3 font-medium hover:bg-hover"
    >
      <FlaskConical aria-hidden className="size-4" strokeWidth={1.75} />
      Open in playground
    </Link>
  );
}

function ArchivedNote({ prompt }: { prompt: Prompt }) {
  const tenant = useOneTenant();
  const mayWrite = useRole(tenant, ...writers);
  const restore = useRestore(prompt.name);
  return (
    <div className="mx-4 mb-3 flex flex-wrap items-center gap-3 rounded-card border border-amber-line bg-amber-tint px-3.5 py-2 text-amber md:mx-6">
      <p className="min-w-0 flex-1">The prompt is archived: its labels name nothing, and it cannot be changed.</p>
      {mayWrite && (
        <Button small icon={ArchiveRestore} busy={restore.isPending} onClick={() => restore.mutate()}>
          Restore prompt
        </Button>
      )}
    </div>
  );
}
