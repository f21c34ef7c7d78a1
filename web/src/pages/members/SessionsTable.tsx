import { keepPreviousData, useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { LogOut, MoreHorizontal, Users } from "lucide-react";
import { useMemo, useState } from "react";
import { api, curlOf, dataOf, readKey, readPages } from "@/api";
import { IconButton } from "@/components/Button";
import { Chip } from "@/components/Chip";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { Menu, MenuItem } from "@/components/Menu";
import { EmptyState, ErrorPanel, NoMatch } from "@/components/States";
import { Time, TimeAgo } from "@/components/Time";
import { toast } from "@/components/Toast";
import { Tip } from "@/components/Tooltip";
import type { Column } from "@/components/table/column";
import { DataTable } from "@/components/table/DataTable";
import { plural } from "@/format";
import { agentWord, issuerWord, type Session } from "./data";
import { RevokeOthersDialog } from "./RevokeOthersDialog";

type Act = { kind: "one" | "others"; session: Session };

/** The sessions of everybody that have not ended, or those of one person. */
export function SessionsTable({ person, onPerson }: { person?: string | undefined; onPerson: (person: string | undefined) => void }) {
  const [act, setAct] = useState<Act | null>(null);
  const sessions = useInfiniteQuery({
    ...readPages(null, "/admin/v1/sessions", { limit: 100, ...(person ? { person } : {}) }),
    placeholderData: keepPreviousData,
  });
  const rows = useMemo(() => sessions.data?.pages.flatMap((p) => p.data) ?? [], [sessions.data]);
  const columns = useMemo(() => sessionColumns(setAct, onPerson), [onPerson]);
  if (sessions.error) return <ErrorPanel error={sessions.error} onRetry={() => void sessions.refetch()} />;
  return (
    <>
      <DataTable
        label="Sessions"
        columns={columns}
        rows={rows}
        idOf={(s) => s.id}
        loading={sessions.isPending}
        refetching={sessions.isRefetching}
        hasMore={sessions.hasNextPage}
        loadingMore={sessions.isFetchingNextPage}
        onMore={() => void sessions.fetchNextPage()}
        empty={
          person ? (
            <NoMatch what="sessions" onClear={() => onPerson(undefined)} />
          ) : (
            <EmptyState title="No sessions" command={curlOf({ path: "/admin/v1/sessions" })}>
              Nobody is signed in to the console.
            </EmptyState>
          )
        }
      />
      {act?.kind === "one" && <RevokeSessionDialog session={act.session} onClose={() => setAct(null)} />}
      {act?.kind === "others" && <RevokeOthersDialog session={act.session} onClose={() => setAct(null)} />}
    </>
  );
}

function sessionColumns(onAct: (act: Act) => void, onPerson: (person: string) => void): readonly Column<Session>[] {
  return [
    { id: "who", header: "Person", width: "minmax(184px, 1.4fr)", narrow: "lead", cell: (s) => <Who session={s} /> },
    { id: "how", header: "Signed in with", width: "112px", narrow: "line", cell: (s) => issuerWord(s.issuer) },
    {
      id: "agent",
      header: "Browser",
      width: "minmax(144px, 1fr)",
      cell: (s) => (
        <Tip text={s.user_agent}>
          <span>{agentWord(s.user_agent)}</span>
        </Tip>
      ),
    },
    { id: "address", header: "Address", width: "120px", cell: (s) => <span className="font-mono text-12">{s.address}</span> },
    { id: "created", header: "Signed in", width: "124px", align: "right", cell: (s) => <Time iso={s.created_at} /> },
    {
      id: "seen",
      header: "Last seen",
      width: "76px",
      align: "right",
      narrow: "line",
      cell: (s) => <TimeAgo iso={s.seen_at} suffix=" ago" />,
    },
    { id: "expires", header: "Expires", width: "124px", align: "right", cell: (s) => <Time iso={s.expires_at} /> },
    {
      id: "actions",
      header: "Actions",
      quiet: true,
      width: "28px",
      narrow: "side",
      cell: (s) => <SessionMenu session={s} onAct={onAct} onPerson={onPerson} />,
    },
  ];
}

function Who({ session: s }: { session: Session }) {
  return (
    <span className="flex items-center gap-2">
      <Tip text={s.email ? `${s.name} <${s.email}>` : s.name}>
        <span className="truncate font-medium">{s.name}</span>
      </Tip>
      {s.current && <Chip hue="water">This session</Chip>}
    </span>
  );
}

function SessionMenu({ session, onAct, onPerson }: { session: Session; onAct: (act: Act) => void; onPerson: (person: string) => void }) {
  return (
    <Menu trigger={<IconButton small icon={MoreHorizontal} label={`Actions on the session of ${session.name}`} />}>
      <MenuItem icon={Users} onSelect={() => onPerson(session.person)}>
        Only sessions of this person
      </MenuItem>
      <MenuItem icon={LogOut} danger onSelect={() => onAct({ kind: "one", session })}>
        Revoke session…
      </MenuItem>
      <MenuItem icon={LogOut} danger onSelect={() => onAct({ kind: "others", session })}>
        Revoke all other sessions of the person…
      </MenuItem>
    </Menu>
  );
}

function RevokeSessionDialog({ session, onClose }: { session: Session; onClose: () => void }) {
  const queries = useQueryClient();
  const revoke = useMutation({
    mutationFn: () => dataOf(api(null).DELETE("/admin/v1/sessions/{session}", { params: { path: { session: session.id } } })),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: readKey(null, "/admin/v1/sessions") });
      toast(`Session of ${session.name} revoked`);
      onClose();
    },
  });
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={session.current ? "Revoke this session?" : `Revoke the session of ${session.name}?`}
      effect={
        <>
          {plural(1, "session")}: {agentWord(session.user_agent)} at {session.address}. It ends in every process within a second, with its
          open streams. {session.current && "This is your session: you will be signed out."}
        </>
      }
      undo="The person can sign in again. To keep a person out, remove their roles, too."
      action="Revoke session"
      danger
      busy={revoke.isPending}
      error={revoke.error}
      onConfirm={() => revoke.mutate()}
      call={{ method: "DELETE", path: `/admin/v1/sessions/${session.id}` }}
    />
  );
}
