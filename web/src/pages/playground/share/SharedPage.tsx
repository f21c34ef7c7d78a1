import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { CopyPlus } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { read, type Schemas } from "@/api";
import { Button } from "@/components/Button";
import { Chip } from "@/components/Chip";
import { Skeleton, useSlow } from "@/components/Skeleton";
import { ErrorPanel } from "@/components/States";
import { Segments } from "@/components/Tabs";
import { Time } from "@/components/Time";
import { PageHead } from "@/frame/PageHead";
import { createStore } from "@/hooks/store";
import { useOneTenant } from "@/routes";
import { useRole } from "@/session";
import type { Run } from "../api";
import { SharedDialogs, type Shown } from "../Dialogs";
import { personName, runTitle } from "../history/words";
import { SetupPane } from "../parts/SetupPane";
import { RunFollower } from "../run/follower";
import { saveDraft } from "../setup/draft";
import type { Editor } from "../setup/editor";
import { editorOf } from "../setup/setup";
import { PlaygroundProvider } from "../state";
import { ColumnsProvider } from "../useColumns";
import { Columns } from "../Workbench";

type OpenShare = Schemas["PlaygroundOpenShare"];

/** A run that somebody shared: the live run for people with a role, or a snapshot. Nothing of it can be changed here. */
export function SharedPage() {
  const tenant = useOneTenant();
  const { id } = useParams({ from: "/frame/t/$tenant/playground/shared/$id" });
  const share = useQuery({
    ...read(tenant, "/v1/playground/shares/{id}", { params: { path: { id } } }),
    // Each read of the run of somebody else is a look that the audit records.
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    retry: false,
  });
  const slow = useSlow(share.isPending);
  if (share.data) return <Opened key={share.data.id} tenant={tenant} share={share.data} />;
  return (
    <>
      <PageHead title="Shared run" />
      {share.error && <ErrorPanel error={share.error} onRetry={() => void share.refetch()} />}
      {slow && (
        <div className="flex gap-4 px-6">
          <Skeleton className="h-80 w-64" />
          <Skeleton className="h-80 flex-1" />
        </div>
      )}
    </>
  );
}

function Opened({ tenant, share }: { tenant: string; share: OpenShare }) {
  const { run } = share;
  const live = share.kind === "role";
  const [editor] = useState(() => createStore(asItRan(run)));
  const [follower, setFollower] = useState<RunFollower | null>(null);
  const [differences, setDifferences] = useState<"text" | "differences">("text");
  const [dialog, setDialog] = useState<Shown | null>(null);
  useEffect(() => {
    const opened = new RunFollower(tenant, run.id, live);
    opened.start(run);
    setFollower(opened);
    return () => opened.close();
  }, [tenant, run, live]);
  const value = useMemo(() => ({ tenant, editor, follower, readOnly: true }), [tenant, editor, follower]);
  return (
    <PlaygroundProvider value={value}>
      <ColumnsProvider marking={differences === "differences"}>
        <div className="flex min-h-0 flex-1 flex-col max-md:flex-none">
          <PageHead
            title={runTitle(run)}
            state={<Chip hue={live ? "water" : "slate"}>{live ? "shared run" : "snapshot"}</Chip>}
            detail={
              <>
                <span>{personName(run.author)}</span>
                <span aria-hidden>·</span>
                <Time iso={run.created_at} />
                {share.expires_at && (
                  <>
                    <span aria-hidden>·</span>
                    <span>
                      expires <Time iso={share.expires_at} />
                    </span>
                  </>
                )}
              </>
            }
          >
            {run.setup.columns.length > 1 && (
              <Segments
                label="Outputs show"
                value={differences}
                tabs={[
                  { value: "text", label: "Text" },
                  { value: "differences", label: "Differences from A" },
                ]}
                onChange={setDifferences}
              />
            )}
            <CopyToPlayground tenant={tenant} share={share} />
          </PageHead>
          <div className="flex min-h-0 flex-1 flex-col border-t border-line lg:flex-row">
            <SetupPane session={null} onDialog={setDialog} />
            <div className="flex min-w-0 flex-1 flex-col">
              <Columns acts={null} onDialog={setDialog} />
            </div>
          </div>
          <SharedDialogs shown={dialog} onClose={() => setDialog(null)} />
        </div>
      </ColumnsProvider>
    </PlaygroundProvider>
  );
}

/** The setup with the versions that ran: a label may have moved since. */
function asItRan(run: Run): Editor {
  const editor = editorOf(run.setup);
  return {
    ...editor,
    columns: editor.columns.map((column, at) => {
      const version = run.cells.find((c) => c.column === at)?.prompt?.version;
      if (column.source.from !== "prompt" || version == null) return column;
      return { ...column, source: { from: "prompt", ref: { ...column.source.ref, version } } };
    }),
  };
}

/** Opens the setup in the person's own playground. */
function CopyToPlayground({ tenant, share }: { tenant: string; share: OpenShare }) {
  const allowed = useRole(tenant, "developer");
  const navigate = useNavigate();
  if (!allowed) return null;
  const copy = () => {
    const editor = editorOf(share.run.setup);
    saveDraft(tenant, { editor: { ...editor, columns: editor.columns.map((c) => ({ ...c, ran: null })) }, run: null });
    void navigate({ to: "/t/$tenant/playground", params: { tenant }, search: {} });
  };
  return (
    <Button look="accent" icon={CopyPlus} onClick={copy}>
      Copy setup to my playground
    </Button>
  );
}
