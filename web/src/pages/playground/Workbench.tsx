import { useState } from "react";
import { Button } from "@/components/Button";
import { cn } from "@/components/cn";
import { ErrorPanel } from "@/components/States";
import { Tabs } from "@/components/Tabs";
import { useNarrow } from "@/hooks/media";
import type { Shown } from "./Dialogs";
import { ColumnView } from "./parts/ColumnView";
import { SetupPane } from "./parts/SetupPane";
import { letters } from "./setup/editor";
import { useEditor, usePlayground, useRunState } from "./state";
import type { Acts } from "./useActs";
import type { Session } from "./useSession";

export interface WorkbenchProps {
  acts: Acts;
  session: Session;
  onDialog: (dialog: Shown) => void;
}

/** Variables, tools and schema at the left; the columns beside each other, with aligned rows. */
export function Workbench({ acts, session, onDialog }: WorkbenchProps) {
  const { follower } = usePlayground();
  const error = useRunState((s) => s.error);
  const stream = useRunState((s) => s.stream);
  return (
    <>
      <SetupPane session={session} onDialog={onDialog} />
      <div className="flex min-w-0 flex-1 flex-col">
        {error != null && (
          <div className="border-b border-line">
            <ErrorPanel error={error} onRetry={() => void follower?.read()} />
            <p className="-mt-2 mb-3 px-4">
              <Button small onClick={session.leave}>
                Leave this run
              </Button>
            </p>
          </div>
        )}
        {stream === "reconnecting" && (
          <p role="status" className="border-b border-amber-line bg-amber-tint px-4 py-1.5 text-12 text-amber">
            The connection broke. The run goes on at the server; this page connects again.
          </p>
        )}
        <Columns acts={acts} onDialog={onDialog} />
      </div>
    </>
  );
}

/** Columns share the rows of one grid, so that heads, prompts, outputs and figures stand on one line. A phone shows one column at a time. */
export function Columns({ acts, onDialog }: { acts: Acts | null; onDialog: (dialog: Shown) => void }) {
  const columns = useEditor((e) => e.columns);
  const narrow = useNarrow();
  const [chosen, setChosen] = useState(0);
  const shown = Math.min(chosen, columns.length - 1);
  return (
    <>
      {narrow && columns.length > 1 && (
        <Tabs
          label="Columns"
          className="px-4"
          value={String(shown)}
          tabs={columns.map((c, i) => ({ value: String(i), label: `Column ${letters[i]}`, key: c.key }))}
          onChange={(at) => setChosen(Number(at))}
        />
      )}
      <div
        className={cn(
          "min-h-0 flex-1",
          narrow
            ? "flex flex-col"
            : "grid min-h-[600px] auto-cols-[minmax(276px,1fr)] grid-flow-col grid-rows-[auto_auto_minmax(96px,auto)_auto_minmax(140px,1fr)_auto_auto] overflow-x-auto",
        )}
      >
        {columns.map((column, at) =>
          narrow && at !== shown ? null : <ColumnView key={column.key} at={at} column={column} acts={acts} onDialog={onDialog} />,
        )}
      </div>
    </>
  );
}
