import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { readPages } from "@/api";
import { Button } from "@/components/Button";
import { cn } from "@/components/cn";
import { Skeleton, useSlow } from "@/components/Skeleton";
import { ErrorPanel } from "@/components/States";
import { TimeAgo } from "@/components/Time";
import { useShortcuts } from "@/hooks/shortcuts";
import { useOneTenant } from "@/routes";
import { LabelChip } from "./Names";
import { hashTail, labelsOf, type Prompt, personWord, type Version } from "./prompt";

/** The versions of a prompt, newest first, without contents. */
export function useVersions(name: string) {
  const tenant = useOneTenant();
  const list = useInfiniteQuery(readPages(tenant, "/v1/prompts/{name}/versions", { limit: 100 }, { name }));
  const versions = useMemo(() => list.data?.pages.flatMap((p) => p.data) ?? [], [list.data]);
  return { list, versions };
}

export interface VersionListProps {
  prompt: Prompt;
  versions: readonly Version[];
  list: ReturnType<typeof useVersions>["list"];
  chosen: number | null;
  onChoose: (version: number) => void;
}

/** Versions with their labels; j and k choose the next and the previous. */
export function VersionList({ prompt, versions, list, chosen, onChoose }: VersionListProps) {
  const slow = useSlow(list.isPending);
  const step = (by: number) => {
    const at = versions.findIndex((v) => v.version === chosen);
    const next = versions[Math.max(0, Math.min(versions.length - 1, at + by))];
    if (next) onChoose(next.version);
  };
  useShortcuts({ j: () => step(1), k: () => step(-1) });
  if (list.error) return <ErrorPanel error={list.error} onRetry={() => void list.refetch()} />;
  return (
    <nav
      aria-label="Versions"
      className="lg:sticky lg:top-0 lg:max-h-[calc(100dvh-11rem)] lg:overflow-y-auto max-lg:max-h-64 max-lg:overflow-y-auto"
    >
      {slow && <Skeleton className="m-4 h-16" />}
      <ol>
        {versions.map((v) => (
          <li key={v.version} className="border-b border-line">
            <button
              type="button"
              aria-current={v.version === chosen ? "true" : undefined}
              onClick={() => onChoose(v.version)}
              className={cn(
                "flex w-full flex-col gap-0.5 px-4 py-2 text-left hover:bg-hover focus-visible:-outline-offset-2 md:px-6 lg:px-4",
                v.version === chosen && "bg-accent-tint shadow-[inset_2px_0_var(--accent)] hover:bg-accent-tint",
              )}
            >
              <span className="flex flex-wrap items-center gap-1.5">
                <span className="num font-medium">v{v.version}</span>
                {labelsOf(prompt, v.version).map((l) => (
                  <LabelChip key={l.label} label={l.label} />
                ))}
                <span className="ml-auto text-12 text-ink-3">
                  <TimeAgo iso={v.created_at} />
                </span>
              </span>
              <span className={cn("line-clamp-2 break-words", v.message ? "text-ink-2" : "text-ink-3")}>
                {v.deleted_at ? "Content deleted" : v.message || "No message"}
              </span>
              <span className="flex items-center gap-2 text-12 text-ink-3">
                <span className="min-w-0 truncate">{personWord(v.author)}</span>
                <span className="ml-auto font-mono">{hashTail(v.sha256)}</span>
              </span>
            </button>
          </li>
        ))}
      </ol>
      {list.hasNextPage && (
        <div className="p-3">
          <Button small busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            Older versions
          </Button>
        </div>
      )}
    </nav>
  );
}
