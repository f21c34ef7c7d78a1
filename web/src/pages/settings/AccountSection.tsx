import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { LogOut } from "lucide-react";
import { useState } from "react";
import { api, read, readKey, type Schemas } from "@/api";
import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { Chip } from "@/components/Chip";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { KeyValue } from "@/components/KeyValue";
import { ErrorPanel } from "@/components/States";
import { Time, TimeAgo } from "@/components/Time";
import { toast } from "@/components/Toast";
import { PlainTable } from "@/components/table/PlainTable";
import { missing, plural } from "@/format";
import { agentWord, issuerWord } from "@/pages/members/data";
import { signOut, useMe } from "@/session";

type OwnSession = Schemas["OwnSession"];

export function AccountSection() {
  const me = useMe();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const leave = async () => {
    await signOut(queries);
    await navigate({ to: "/sign-in" });
  };
  return (
    <>
      <Card
        title="Account"
        className="max-w-3xl shrink-0"
        aside={
          <Button small icon={LogOut} onClick={() => void leave()}>
            Sign out
          </Button>
        }
      >
        <div className="px-3.5 py-2">
          <KeyValue
            facts={[
              { name: "Name", value: me.name },
              { name: "E-mail", value: me.email, copy: me.email ?? undefined },
              { name: "All tenants", value: <Roles roles={me.all_tenants_roles} /> },
              ...me.tenants
                .filter((t) => t.roles.some((role) => !me.all_tenants_roles.includes(role)))
                .slice(0, 20)
                .map((t) => ({ name: t.name, value: <Roles roles={t.roles} /> })),
              { name: "Session ends", value: <Time iso={me.session?.expires_at} /> },
            ]}
          />
        </div>
      </Card>
      <OwnSessions />
    </>
  );
}

function Roles({ roles }: { roles: readonly string[] }) {
  if (roles.length === 0) return <span className="text-ink-3">{missing}</span>;
  return (
    <span className="flex gap-1">
      {roles.map((role) => (
        <Chip key={role}>{role}</Chip>
      ))}
    </span>
  );
}

function OwnSessions() {
  const queries = useQueryClient();
  const list = useQuery(read(null, "/v1/me/sessions"));
  const [asked, setAsked] = useState<OwnSession[] | null>(null);
  const sessions = list.data?.data ?? [];
  const others = sessions.filter((s) => !s.current);
  const revoke = useMutation({
    mutationFn: async (which: OwnSession[]) => {
      for (const s of which) await api(null).DELETE("/v1/me/sessions/{session}", { params: { path: { session: s.id } } });
      return which.length;
    },
    onSuccess: (count) => {
      toast(`${plural(count, "session")} revoked`);
      setAsked(null);
    },
    onSettled: () => void queries.invalidateQueries({ queryKey: readKey(null, "/v1/me/sessions") }),
  });
  return (
    <Card
      title="Your sessions"
      note="Browsers in which you are signed in"
      className="shrink-0"
      aside={
        others.length > 0 && (
          <Button small look="danger" onClick={() => setAsked(others)}>
            Revoke all others…
          </Button>
        )
      }
    >
      {list.error ? (
        <ErrorPanel error={list.error} onRetry={() => void list.refetch()} />
      ) : (
        <PlainTable
          label="Your sessions"
          rows={sessions}
          idOf={(s) => s.id}
          columns={[
            { id: "browser", header: "Browser", width: "320px", narrow: "lead", cell: (s) => <Browser session={s} /> },
            { id: "how", header: "Signed in with", width: "160px", narrow: "line", cell: (s) => issuerWord(s.issuer) },
            {
              id: "address",
              header: "Address",
              width: "160px",
              narrow: "line",
              cell: (s) => <span className="font-mono text-12">{s.address}</span>,
            },
            { id: "created", header: "Signed in", width: "140px", align: "right", cell: (s) => <Time iso={s.created_at} /> },
            {
              id: "seen",
              header: "Last seen",
              width: "88px",
              align: "right",
              narrow: "line",
              cell: (s) => <TimeAgo iso={s.seen_at} suffix=" ago" />,
            },
            { id: "expires", header: "Expires", width: "140px", align: "right", cell: (s) => <Time iso={s.expires_at} /> },
            {
              id: "revoke",
              header: "Actions",
              quiet: true,
              width: "88px",
              align: "right",
              narrow: "side",
              cell: (s) =>
                !s.current && (
                  <Button small look="ghost" onClick={() => setAsked([s])}>
                    Revoke…
                  </Button>
                ),
            },
          ]}
        />
      )}
      {asked && (
        <ConfirmDialog
          open
          onOpenChange={(open) => !open && setAsked(null)}
          title={asked.length === 1 ? "Revoke the session?" : "Revoke all other sessions?"}
          effect={`${plural(asked.length, "session")} of yours ${asked.length === 1 ? "ends" : "end"} in every process within a second. This session goes on.`}
          undo="You can sign in again in these browsers."
          action={`Revoke ${plural(asked.length, "session")}`}
          danger
          busy={revoke.isPending}
          error={revoke.error}
          onConfirm={() => revoke.mutate(asked)}
        />
      )}
    </Card>
  );
}

function Browser({ session }: { session: OwnSession }) {
  return (
    <span className="inline-flex items-center gap-2 font-medium">
      {agentWord(session.user_agent)}
      {session.current && <Chip hue="water">This session</Chip>}
    </span>
  );
}
