import { keepPreviousData, useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { MoreHorizontal, Trash2, UserCog } from "lucide-react";
import { useMemo, useState } from "react";
import { api, curlOf, dataOf, readPages } from "@/api";
import { IconButton } from "@/components/Button";
import { Chip } from "@/components/Chip";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { later } from "@/components/later";
import { Menu, MenuItem } from "@/components/Menu";
import { EmptyState, ErrorPanel } from "@/components/States";
import { TimeAgo } from "@/components/Time";
import { toast } from "@/components/Toast";
import type { Column } from "@/components/table/column";
import { DataTable } from "@/components/table/DataTable";
import { actorOf } from "@/pages/audit/entry";
import { Source } from "@/pages/tenants/words";
import { type Member, memberId, memberName, membersChanged } from "./data";

const ChangeRoleDialog = later(() => import("./GrantDialog").then((m) => m.ChangeRoleDialog));

type Act = { kind: "change" | "remove"; member: Member };

/** The roles that were granted: all, or those in one tenant. With `inherited` also the roles for all tenants, which count in the tenant. */
export function MembersTable({ tenant, inherited = false }: { tenant?: string | undefined; inherited?: boolean }) {
  const [act, setAct] = useState<Act | null>(null);
  const members = useInfiniteQuery({
    ...readPages(null, "/admin/v1/members", { limit: 100, ...(tenant ? { tenant } : {}) }),
    placeholderData: keepPreviousData,
  });
  const wide = useInfiniteQuery({ ...readPages(null, "/admin/v1/members", { limit: 100, tenant: "-" }), enabled: inherited });
  const rows = useMemo(() => {
    const own = members.data?.pages.flatMap((p) => p.data) ?? [];
    return !inherited ? own : [...own, ...(wide.data?.pages.flatMap((p) => p.data) ?? [])];
  }, [members.data, wide.data, inherited]);
  const columns = useMemo(() => memberColumns(setAct), []);
  const hasMore = members.hasNextPage || (inherited && wide.hasNextPage);
  if (members.error) return <ErrorPanel error={members.error} onRetry={() => void members.refetch()} />;
  return (
    <>
      <DataTable
        label="Members"
        columns={columns}
        rows={rows}
        idOf={memberId}
        loading={members.isPending}
        refetching={members.isRefetching}
        hasMore={hasMore}
        loadingMore={members.isFetchingNextPage || wide.isFetchingNextPage}
        onMore={() => void (members.hasNextPage ? members : wide).fetchNextPage()}
        empty={<NoMembers tenant={tenant === "-" ? undefined : tenant} />}
      />
      {act?.kind === "change" && <ChangeRoleDialog member={act.member} onClose={() => setAct(null)} />}
      {act?.kind === "remove" && <RemoveDialog member={act.member} onClose={() => setAct(null)} />}
    </>
  );
}

function memberColumns(onAct: (act: Act) => void): readonly Column<Member>[] {
  return [
    {
      id: "who",
      header: "Person",
      width: "minmax(200px, 1.6fr)",
      narrow: "lead",
      cell: (m) => <span className="font-medium">{memberName(m)}</span>,
    },
    {
      id: "role",
      header: "Role",
      width: "96px",
      narrow: "line",
      cell: (m) => <Chip hue={m.role === "admin" ? "amber" : "slate"}>{m.role}</Chip>,
    },
    {
      id: "tenant",
      header: "In",
      width: "minmax(136px, 1fr)",
      narrow: "line",
      cell: (m) => m.tenant ?? <span className="text-ink-2">All tenants</span>,
    },
    { id: "source", header: "Owner", width: "64px", narrow: "line", cell: (m) => <Source source={m.source} /> },
    { id: "actor", header: "Granted by", width: "minmax(136px, 1fr)", cell: (m) => (m.actor ? actorOf(m.actor).name : null) },
    {
      id: "created",
      header: "Granted",
      width: "72px",
      align: "right",
      narrow: "line",
      cell: (m) => <TimeAgo iso={m.created_at} suffix=" ago" />,
    },
    { id: "actions", header: "Actions", quiet: true, width: "28px", narrow: "side", cell: (m) => <MemberMenu member={m} onAct={onAct} /> },
  ];
}

function MemberMenu({ member, onAct }: { member: Member; onAct: (act: Act) => void }) {
  const inFile = member.source === "file";
  return (
    <Menu trigger={<IconButton small icon={MoreHorizontal} label={`Actions on ${memberName(member)}`} />}>
      <MenuItem icon={UserCog} disabled={inFile} onSelect={() => onAct({ kind: "change", member })}>
        Change role…
      </MenuItem>
      <MenuItem icon={Trash2} danger disabled={inFile} onSelect={() => onAct({ kind: "remove", member })}>
        Remove role…
      </MenuItem>
      {inFile && <p className="px-2 py-1.5 text-12 text-ink-3">The configuration file owns this role.</p>}
    </Menu>
  );
}

function RemoveDialog({ member, onClose }: { member: Member; onClose: () => void }) {
  const queries = useQueryClient();
  const name = memberName(member);
  const grant = useMutation({
    mutationFn: () =>
      dataOf(
        api(null).POST("/admin/v1/members", {
          body: {
            role: member.role,
            ...(member.email ? { email: member.email } : {}),
            ...(member.person ? { person: member.person } : {}),
            ...(member.tenant ? { tenant: member.tenant } : {}),
          },
        }),
      ),
    onSuccess: () => membersChanged(queries),
  });
  const remove = useMutation({
    mutationFn: () => dataOf(api(null).DELETE("/admin/v1/members/{member}", { params: { path: { member: member.id ?? "" } } })),
    onSuccess: () => {
      membersChanged(queries);
      toast(`${name} lost the role ${member.role}`, { undo: () => grant.mutate() });
      onClose();
    },
  });
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Remove the role ${member.role}?`}
      effect={
        <>
          <span className="font-medium">{name}</span> loses the role {member.role}{" "}
          {member.tenant ? `in ${member.tenant}` : "for all tenants"}. Open sessions lose it within a second.
        </>
      }
      undo="You can grant the role again."
      action="Remove role"
      danger
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      call={{ method: "DELETE", path: `/admin/v1/members/${member.id}` }}
    />
  );
}

function NoMembers({ tenant }: { tenant: string | undefined }) {
  const body = { email: "ada@example.com", role: "developer", ...(tenant ? { tenant } : {}) };
  return (
    <EmptyState title="No roles granted" command={curlOf({ method: "POST", path: "/admin/v1/members", body })}>
      People sign in at your identity provider, and see what their role allows. Grant a role to an e-mail address here, in the configuration
      file, or on the admin listener with the admin key:
    </EmptyState>
  );
}
