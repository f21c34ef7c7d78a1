import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { ApiError, readKey } from "@/api";
import { Forbidden } from "@/components/States";
import { PageHead } from "@/frame/PageHead";
import { useActions } from "@/frame/useActions";
import { useShortcuts } from "@/hooks/shortcuts";
import { useOneTenant } from "@/routes";
import { useRole } from "@/session";
import { PlaygroundDialogs, type Shown } from "./Dialogs";
import { HistoryPane } from "./history/HistoryPane";
import { PlaygroundHead } from "./PlaygroundHead";
import { paletteEntries } from "./palette";
import { PlaygroundProvider, useRun } from "./state";
import { useActs } from "./useActs";
import { ColumnsProvider, useColumns } from "./useColumns";
import { type Session, useSession } from "./useSession";
import { Workbench } from "./Workbench";

/** Prompts side by side: set up, run, compare, keep. */
export function PlaygroundPage() {
  const tenant = useOneTenant();
  const allowed = useRole(tenant, "developer");
  if (!allowed) {
    return (
      <>
        <PageHead title="Playground" />
        <Forbidden
          error={new ApiError(403, { message: "Runs need the role developer in this tenant. A shared run opens by its link." }, null)}
        />
      </>
    );
  }
  return <Opened key={tenant} tenant={tenant} />;
}

function Opened({ tenant }: { tenant: string }) {
  const session = useSession(tenant);
  const { editor, follower, search } = session;
  const value = useMemo(() => ({ tenant, editor, follower, readOnly: false }), [tenant, editor, follower]);
  return (
    <PlaygroundProvider value={value}>
      <ColumnsProvider marking={search.marks === "differences"}>
        <Page tenant={tenant} session={session} />
      </ColumnsProvider>
    </PlaygroundProvider>
  );
}

function Page({ tenant, session }: { tenant: string; session: Session }) {
  const { made } = useColumns();
  const run = useRun();
  const [dialog, setDialog] = useState<Shown | null>(null);
  const acts = useActs(tenant, session.follower, session.show);
  const running = run?.state === "running";
  const queries = useQueryClient();
  useEffect(() => {
    if (!running) void queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/playground/runs") }); // the lists show how it ended
  }, [running, queries, tenant]);
  const ready = made.setup !== null && !acts.start.isPending;
  const start = () => {
    if (!made.setup || !ready || running || dialog !== null) return false;
    acts.start.mutate(made.setup);
    return true;
  };
  const stop = () => {
    if (!running) return false;
    acts.stop.mutate(null);
    return true;
  };
  useShortcuts({ "mod+Enter": start, Escape: stop });
  const entries = useMemo(() => paletteEntries(session, setDialog, run !== null), [session, run]);
  useActions(entries);
  const history = session.search.pane === "history";
  return (
    <div className="flex min-h-0 flex-1 flex-col max-md:flex-none">
      <PlaygroundHead session={session} acts={acts} onStart={start} onStop={stop} onDialog={setDialog} />
      <div className="flex min-h-0 flex-1 flex-col border-t border-line lg:flex-row">
        <Workbench acts={acts} session={session} onDialog={setDialog} />
        {history && <HistoryPane session={session} onDialog={setDialog} />}
      </div>
      <PlaygroundDialogs shown={dialog} session={session} onClose={() => setDialog(null)} />
    </div>
  );
}
