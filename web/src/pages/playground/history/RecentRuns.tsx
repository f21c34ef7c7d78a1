import { useQuery } from "@tanstack/react-query";
import { read } from "@/api";
import { Cost } from "@/components/Cost";
import { StateGlyph } from "@/components/StateGlyph";
import { formatClock } from "@/format";
import { usePreferences } from "@/hooks/preferences";
import { PaneBlock } from "../parts/SetupPane";
import { usePlayground, useRun } from "../state";
import type { Session } from "../useSession";
import { runGlyph, runTitle } from "./words";

/** The last runs of the person. */
export function RecentRuns({ session }: { session: Session }) {
  const { tenant } = usePlayground();
  const { zone } = usePreferences();
  const shown = useRun();
  const list = useQuery(read(tenant, "/v1/playground/runs", { params: { query: { author: "me", limit: 4 } } }));
  const runs = list.data?.data ?? [];
  if (runs.length === 0) return null;
  return (
    <PaneBlock title="Recent runs">
      <ul className="-mx-2 flex flex-col">
        {runs.map((run) => (
          <li key={run.id}>
            <button
              type="button"
              aria-current={run.id === shown?.id ? "true" : undefined}
              onClick={() => session.open(run.id)}
              className="flex h-7 w-full items-center gap-2 rounded-control px-2 text-left text-12 hover:bg-hover aria-[current]:bg-hover"
            >
              <span className="num text-ink-3">{formatClock(run.created_at, zone).slice(0, 5)}</span>
              <StateGlyph state={runGlyph(run)} alone />
              <span className="min-w-0 flex-1 truncate">{runTitle(run)}</span>
              <Cost usd={run.cost_usd} />
            </button>
          </li>
        ))}
      </ul>
    </PaneBlock>
  );
}
