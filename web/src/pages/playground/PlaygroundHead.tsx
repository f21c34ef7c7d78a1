import { Download, Ellipsis, FilePlus2, History, Pencil, Play, Plus, RotateCw, Share2, Square, Trash2 } from "lucide-react";
import { useMemo } from "react";
import { Button, IconButton } from "@/components/Button";
import { CurlItem } from "@/components/Copy";
import { Menu, MenuItem, MenuSeparator } from "@/components/Menu";
import { Segments } from "@/components/Tabs";
import { formatClock } from "@/format";
import { PageHead } from "@/frame/PageHead";
import { usePreferences } from "@/hooks/preferences";
import { modKey } from "@/hooks/shortcuts";
import type { Run } from "./api";
import type { Shown } from "./Dialogs";
import { EstimateLine } from "./EstimateLine";
import { exportRows } from "./export/rows";
import { addColumn, maxColumns } from "./setup/editor";
import { editorOf, sameSetup } from "./setup/setup";
import { useEdit, useEditor, usePlayground, useRun } from "./state";
import type { Acts } from "./useActs";
import { useColumns } from "./useColumns";
import type { Session } from "./useSession";

const trialChoices = ["1", "3", "5"];

export interface PlaygroundHeadProps {
  session: Session;
  acts: Acts;
  onStart: () => void;
  onStop: () => void;
  onDialog: (dialog: Shown) => void;
}

/** Name, estimate, trials, marks, history, share, columns, run. */
export function PlaygroundHead({ session, acts, onStart, onStop, onDialog }: PlaygroundHeadProps) {
  const run = useRun();
  const edit = useEdit();
  const { made } = useColumns();
  const columns = useEditor((e) => e.columns.length);
  const trials = useEditor((e) => e.trials);
  const running = run?.state === "running";
  const choices = trialChoices.includes(String(trials)) ? trialChoices : [...trialChoices, String(trials)]; // a run of the API may have more
  return (
    <PageHead title={<Title run={run} onDialog={onDialog} />} name={run?.name ?? "Playground"} state={run && <RunState run={run} />}>
      <EstimateLine error={acts.start.error} />
      <div className="flex items-center gap-2">
        <span aria-hidden className="text-12 text-ink-2">
          Trials
        </span>
        <Segments
          label="Trials of each row"
          value={String(trials)}
          tabs={choices.map((n) => ({ value: n, label: n }))}
          onChange={(n) => edit((e) => ({ ...e, trials: Number(n) }))}
        />
      </div>
      {columns > 1 && (
        <Segments
          label="Outputs show"
          value={session.search.marks ?? "text"}
          tabs={[
            { value: "text", label: "Text" },
            { value: "differences", label: "Differences from A" },
          ]}
          onChange={(marks) => session.set({ marks: marks === "text" ? undefined : marks })}
        />
      )}
      <Button
        icon={History}
        aria-pressed={session.search.pane === "history"}
        onClick={() => session.set({ pane: session.search.pane ? undefined : "history" })}
      >
        History
      </Button>
      <Button icon={Share2} disabled={!run?.mine} onClick={() => onDialog({ kind: "share" })}>
        Share…
      </Button>
      <Button icon={Plus} disabled={columns >= maxColumns} onClick={() => edit((e) => addColumn(e))}>
        Column
      </Button>
      <MoreMenu run={run} session={session} acts={acts} onDialog={onDialog} />
      {running ? (
        <Button icon={Square} hint="Esc" busy={acts.stop.isPending} onClick={onStop}>
          Stop all
        </Button>
      ) : (
        <Button look="accent" icon={Play} hint={`${modKey} ↵`} busy={acts.start.isPending} disabled={made.setup === null} onClick={onStart}>
          {columns > 1 ? "Run all" : "Run"}
        </Button>
      )}
    </PageHead>
  );
}

function Title({ run, onDialog }: { run: Run | null; onDialog: (dialog: Shown) => void }) {
  if (!run) return "Playground";
  return (
    <>
      <span className="truncate">{run.name ?? "Untitled run"}</span>
      {run.mine && <IconButton small icon={Pencil} label="Rename run" onClick={() => onDialog({ kind: "rename", run })} />}
    </>
  );
}

/** When the shown outputs were made, and whether the setup has changed since. */
function RunState({ run }: { run: Run }) {
  const { zone } = usePreferences();
  const editor = useEditor((e) => e);
  const stored = useMemo(() => editorOf(run.setup), [run.setup]);
  const edited = useMemo(() => !sameSetup(stored, editor), [stored, editor]);
  const at = formatClock(run.created_at, zone).slice(0, 5);
  return <span className="text-12 text-ink-3">{edited ? `Edited since the run at ${at}` : `Saved ${at}`}</span>;
}

function MoreMenu({ run, session, acts, onDialog }: { run: Run | null; session: Session; acts: Acts; onDialog: (d: Shown) => void }) {
  const { tenant } = usePlayground();
  const { made } = useColumns();
  const again = run?.mine && run.state !== "running" && run.counts.failed + run.counts.stopped + run.counts.interrupted > 0;
  return (
    <Menu trigger={<IconButton icon={Ellipsis} look="plain" label="More actions" />} className="min-w-60">
      <MenuItem icon={FilePlus2} onSelect={session.reset}>
        New setup
      </MenuItem>
      {again && (
        <MenuItem icon={RotateCw} onSelect={() => acts.resume.mutate()}>
          Run unfinished outputs again
        </MenuItem>
      )}
      {run && (
        <MenuItem icon={Download} onSelect={() => void exportRows(tenant, run)}>
          Export rows as JSONL
        </MenuItem>
      )}
      {made.setup && <CurlItem call={{ method: "POST", path: "/v1/playground/runs", body: { name: null, setup: made.setup } }} />}
      {run?.mine && (
        <>
          <MenuSeparator />
          <MenuItem icon={Trash2} danger onSelect={() => onDialog({ kind: "delete", run })}>
            Delete run…
          </MenuItem>
        </>
      )}
    </Menu>
  );
}
