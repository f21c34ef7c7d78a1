import { useQuery } from "@tanstack/react-query";
import { FilePen, GitCompareArrows } from "lucide-react";
import { asApiError, read } from "@/api";
import { Button } from "@/components/Button";
import { Select } from "@/components/Select";
import { Skeleton, useSlow } from "@/components/Skeleton";
import { EmptyState, ErrorPanel } from "@/components/States";
import { Segments } from "@/components/Tabs";
import { Time } from "@/components/Time";
import { useOneTenant } from "@/routes";
import { useRole } from "@/session";
import { VersionContent } from "./Content";
import { Difference } from "./Difference";
import { LabelChip } from "./Names";
import { hashTail, labelsOf, type Prompt, personWord, type Version, writers } from "./prompt";
import type { PromptSearch } from "./route";
import { useVersions, VersionList } from "./Versions";

export type SearchSetter = (change: Partial<Record<keyof PromptSearch, string | undefined>>) => void;

export interface VersionsTabProps {
  prompt: Prompt;
  search: PromptSearch;
  onSearch: SearchSetter;
}

/** The versions, and the content of the chosen one or its difference to another. */
export function VersionsTab({ prompt, search, onSearch }: VersionsTabProps) {
  const tenant = useOneTenant();
  const mayWrite = useRole(tenant, ...writers);
  const { list, versions } = useVersions(prompt.name);
  const chosen = search.version ? Number(search.version) : (prompt.latest ?? versions[0]?.version ?? null);
  if (list.data && versions.length === 0) {
    return (
      <EmptyState
        title="No version yet"
        action={
          mayWrite && (
            <div>
              <Button icon={FilePen} onClick={() => onSearch({ tab: "draft" })}>
                Open the draft
              </Button>
            </div>
          )
        }
      >
        The prompt has a draft only. Save it as a version, and callers can use it.
      </EmptyState>
    );
  }
  const comparing = search.from !== undefined && search.to !== undefined;
  const choose = (version: number) =>
    onSearch({
      version: String(version),
      ...(comparing ? { from: beforeOf(versions, version), to: String(version) } : { from: undefined, to: undefined }),
    });
  return (
    <div className="flex flex-col lg:min-h-full lg:flex-row">
      <div className="shrink-0 border-line max-lg:border-b lg:w-64 lg:border-r xl:w-72">
        <VersionList prompt={prompt} versions={versions} list={list} chosen={chosen} onChoose={choose} />
      </div>
      <div className="min-w-0 flex-1">
        {chosen !== null && <Chosen prompt={prompt} versions={versions} n={chosen} search={search} onSearch={onSearch} />}
      </div>
    </div>
  );
}

/** The version before another: what its content is compared with at first. */
function beforeOf(versions: readonly Version[], version: number): string {
  const parent = versions.find((v) => v.version === version)?.parent;
  return String(parent ?? versions.find((v) => v.version < version)?.version ?? version);
}

const views = [
  { value: "content", label: "Content" },
  { value: "changes", label: "Changes", icon: <GitCompareArrows aria-hidden className="size-3.5" strokeWidth={1.75} /> },
] as const;

function Chosen({ prompt, versions, n, search, onSearch }: VersionsTabProps & { versions: readonly Version[]; n: number }) {
  const tenant = useOneTenant();
  const { from, to } = search;
  const comparing = from !== undefined && to !== undefined;
  const version = useQuery({
    ...read(tenant, "/v1/prompts/{name}/versions/{version}", { params: { path: { name: prompt.name, version: String(n) } } }),
    staleTime: Number.POSITIVE_INFINITY, // a version never changes
  });
  const slow = useSlow(version.isPending);
  const known = version.data ?? versions.find((v) => v.version === n);
  const show = (view: "content" | "changes") =>
    onSearch(view === "content" ? { from: undefined, to: undefined } : { from: beforeOf(versions, n), to: String(n) });
  return (
    <section aria-label={`Version ${n}`}>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 border-b border-line px-4 py-2.5 md:px-6">
        <div className="min-w-0 flex-1">
          <h2 className="flex flex-wrap items-center gap-2 text-14 font-semibold">
            Version {n}
            {labelsOf(prompt, n).map((l) => (
              <LabelChip key={l.label} label={l.label} />
            ))}
          </h2>
          {known && <VersionFacts version={known} />}
        </div>
        <Segments label="View" value={comparing ? "changes" : "content"} tabs={views} onChange={show} />
      </div>
      <div className="px-4 py-4 md:px-6">
        {comparing ? (
          <div className="flex flex-col gap-3">
            <Sides prompt={prompt} versions={versions} from={from} to={to} onSearch={onSearch} />
            <Difference name={prompt.name} from={from} to={to} />
          </div>
        ) : (
          <>
            {slow && <Skeleton className="h-32" />}
            {version.data && <VersionContent version={version.data} />}
            {version.error && asApiError(version.error).status === 410 && <Gone n={n} />}
            {version.error && asApiError(version.error).status !== 410 && (
              <ErrorPanel error={version.error} onRetry={() => void version.refetch()} />
            )}
          </>
        )}
      </div>
    </section>
  );
}

function Gone({ n }: { n: number }) {
  return (
    <EmptyState title={`The content of version ${n} was deleted`}>
      Its number, its hash and its author stay, so that records which name it still say which text it was.
    </EmptyState>
  );
}

function VersionFacts({ version }: { version: Version }) {
  return (
    <p className="flex flex-wrap gap-x-2 text-12 text-ink-2">
      {version.message && <span className="break-words text-ink">{version.message}</span>}
      <span>by {personWord(version.author)}</span>
      <Time iso={version.created_at} />
      {version.parent !== null && <span>from v{version.parent}</span>}
      <span className="font-mono text-ink-3" title={version.sha256}>
        sha256 …{hashTail(version.sha256)}
      </span>
    </p>
  );
}

/** The two compared sides: versions, labels and the draft. */
function Sides({
  prompt,
  versions,
  from,
  to,
  onSearch,
}: {
  prompt: Prompt;
  versions: readonly Version[];
  from: string;
  to: string;
  onSearch: SearchSetter;
}) {
  const choices = [
    ...(prompt.draft === null ? [] : [{ value: "draft", label: "Draft" }]),
    ...prompt.labels.map((l) => ({ value: l.label, label: `${l.label} (v${l.version})` })),
    ...versions.filter((v) => !v.deleted_at).map((v) => ({ value: String(v.version), label: `v${v.version}` })),
  ];
  const withOwn = (side: string) => (choices.some((c) => c.value === side) ? choices : [{ value: side, label: side }, ...choices]);
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Select small label="From" value={from} choices={withOwn(from)} onChange={(side) => onSearch({ from: side })} />
      <span className="text-ink-3">to</span>
      <Select small label="To" value={to} choices={withOwn(to)} onChange={(side) => onSearch({ to: side })} />
    </div>
  );
}
