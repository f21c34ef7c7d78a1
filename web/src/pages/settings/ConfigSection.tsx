import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { RefreshCw } from "lucide-react";
import { useMemo, useState } from "react";
import { read, type Schemas } from "@/api";
import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { CodeView } from "@/components/CodeView";
import { CopyButton, CurlButton } from "@/components/Copy";
import { cn } from "@/components/cn";
import { Skeleton, useSlow } from "@/components/Skeleton";
import { StateGlyph } from "@/components/StateGlyph";
import { ErrorPanel } from "@/components/States";
import { plural } from "@/format";
import { ReloadDialog } from "./ReloadDialog";
import { partsOf } from "./yaml";

type Config = Schemas["Config"];

/** The configuration in force, how the file differs from it, and the reload. */
export function ConfigSection({ part }: { part: string | undefined }) {
  const config = useQuery(read(null, "/admin/v1/config"));
  const slow = useSlow(config.isPending);
  const [reloading, setReloading] = useState(false);
  if (config.error) return <ErrorPanel error={config.error} onRetry={() => void config.refetch()} />;
  if (!config.data) return slow ? <Skeleton className="h-40 w-full" /> : null;
  return (
    <>
      <FileCard
        config={config.data}
        onReload={() => setReloading(true)}
        onCheck={() => void config.refetch()}
        checking={config.isFetching}
      />
      <PartsCard config={config.data} part={part} />
      {reloading && <ReloadDialog onClose={() => setReloading(false)} />}
    </>
  );
}

interface FileCardProps {
  config: Config;
  onReload: () => void;
  onCheck: () => void;
  checking: boolean;
}

function FileCard({ config, onReload, onCheck, checking }: FileCardProps) {
  const { file } = config;
  const noFile = !file.readable && file.hash === null && file.problems.every((p) => p.path === "" && p.line === 0);
  return (
    <Card title="Configuration file" className="shrink-0" aside={<CurlButton call={{ path: "/admin/v1/config" }} />}>
      <div className="flex flex-col gap-3 px-3.5 py-3">
        <FileState config={config} noFile={noFile} />
        {file.changes.length > 0 && <Sentences title="The file differs from the configuration in force" list={file.changes} />}
        {file.refusal && <p className="text-amber">A reload is refused without force: {file.refusal}</p>}
        {!noFile && <Problems title="Problems of the file: a reload would fail" problems={file.problems} />}
        <Problems title="Problems of the configuration in force" problems={config.problems} />
        {config.notices.length > 0 && <Sentences title="Notices" list={config.notices} />}
        <div className="flex flex-wrap gap-2">
          <Button icon={RefreshCw} busy={checking} onClick={onCheck}>
            Check file
          </Button>
          <Button look="accent" disabled={!file.readable} onClick={onReload}>
            Reload configuration…
          </Button>
        </div>
      </div>
    </Card>
  );
}

function FileState({ config, noFile }: { config: Config; noFile: boolean }) {
  const { file } = config;
  const [state, words] = noFile
    ? (["queued", file.problems[0]?.message ?? "This process has no configuration file."] as const)
    : !file.readable
      ? (["down", "The file is not valid. The configuration in force stays."] as const)
      : file.changes.length > 0
        ? ([
            "degraded",
            `The file has ${plural(file.changes.length, "change")} that ${file.changes.length === 1 ? "is" : "are"} not in force.`,
          ] as const)
        : (["healthy", "The file is in force."] as const);
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
      <span className="inline-flex items-center gap-1.5 font-medium">
        <StateGlyph state={state} />
        {words}
      </span>
      <span className="inline-flex items-center gap-1 text-12 text-ink-3">
        In force <span className="font-mono text-ink-2">{config.hash}</span>
        <CopyButton text={config.hash} label="Copy the hash" />
      </span>
      <span className="text-12 text-ink-3">Of the process that answers. Each process reads its own file.</span>
    </div>
  );
}

export function Sentences({ title, list }: { title: string; list: readonly string[] }) {
  return (
    <div>
      <h3 className="mb-1 text-12 font-medium text-ink-3">{title}</h3>
      <ul className="flex list-disc flex-col gap-0.5 pl-4">
        {list.map((sentence) => (
          <li key={sentence} className="break-words">
            {sentence}
          </li>
        ))}
      </ul>
    </div>
  );
}

export function Problems({ title, problems }: { title: string; problems: Config["problems"] }) {
  if (problems.length === 0) return null;
  return (
    <div>
      <h3 className="mb-1 text-12 font-medium text-red">{title}</h3>
      <ul className="flex flex-col gap-1">
        {problems.map((p) => (
          <li key={`${p.path}:${p.line}:${p.message}`} className="break-words">
            {p.path && <span className="font-mono text-12">{p.path}</span>}{" "}
            {p.line > 0 && <span className="num text-12 text-ink-3">line {p.line}</span>} {p.message}
          </li>
        ))}
      </ul>
    </div>
  );
}

function PartsCard({ config, part }: { config: Config; part: string | undefined }) {
  const parts = useMemo(() => partsOf(config.yaml), [config.yaml]);
  const now = parts.find((p) => p.name === part) ?? parts[0];
  if (!now) return null;
  return (
    <Card
      title="Configuration in force"
      note="With defaults. Secrets are hidden."
      className="shrink-0"
      aside={<CopyButton text={config.yaml} withText label="Copy all" />}
    >
      <div className="flex flex-col md:flex-row">
        <nav
          aria-label="Parts of the configuration"
          className="flex shrink-0 flex-wrap gap-0.5 border-line p-2 max-md:border-b md:w-44 md:flex-col md:flex-nowrap md:border-r"
        >
          {parts.map((p) => (
            <Link
              key={p.name}
              to="/all/settings"
              search={{ section: "configuration", part: p.name }}
              replace
              aria-current={p === now ? "true" : undefined}
              className={cn(
                "flex h-7 items-center justify-between gap-2 rounded-control px-2 font-mono text-12 hover:bg-hover",
                p === now ? "bg-accent-tint text-accent" : "text-ink-2",
              )}
            >
              {p.name}
              <span className="num text-ink-3">{p.entries}</span>
            </Link>
          ))}
        </nav>
        <div className="min-w-0 flex-1 p-3">
          <CodeView key={now.name} label={`Configuration ${now.name}`} text={now.text} maxHeight={560} />
        </div>
      </div>
    </Card>
  );
}
