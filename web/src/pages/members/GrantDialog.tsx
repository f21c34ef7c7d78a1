import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, asApiError, dataOf } from "@/api";
import { Field, Input } from "@/components/Field";
import { FormDialog } from "@/components/FormDialog";
import { Select } from "@/components/Select";
import { toast } from "@/components/Toast";
import { type Role, useMe } from "@/session";
import { type Member, memberName, membersChanged, useRoleChange } from "./data";
import { roleChoices, roles } from "./roles";

const everywhere = "*";

/** Grants a role to an e-mail address: in one tenant, or for all tenants. */
export function GrantDialog({ tenant, onClose }: { tenant?: string | undefined; onClose: () => void }) {
  const queries = useQueryClient();
  const me = useMe();
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("viewer");
  const [where, setWhere] = useState(tenant ?? everywhere);
  const body = { email: email.trim(), role, ...(where === everywhere ? {} : { tenant: where }) };
  const grant = useMutation({
    mutationFn: () => dataOf(api(null).POST("/admin/v1/members", { body })),
    onSuccess: () => {
      membersChanged(queries);
      toast(`${body.email} has the role ${role}`);
      onClose();
    },
  });
  const refused = grant.error ? asApiError(grant.error) : null;
  const tenants = [{ value: everywhere, label: "All tenants" }, ...me.tenants.map((t) => ({ value: t.id, label: t.name }))];
  return (
    <FormDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title="Grant a role"
      description="The person has it at the next sign-in, and at once in open sessions."
      action="Grant role"
      ready={/^\S+@\S+$/.test(email.trim())}
      busy={grant.isPending}
      error={refused?.param === "email" ? null : grant.error}
      onSubmit={() => grant.mutate()}
      call={{ method: "POST", path: "/admin/v1/members", body }}
    >
      <Field label="E-mail" hint="As the identity provider verifies it" error={refused?.param === "email" ? refused.message : null}>
        <Input
          type="email"
          autoFocus
          autoComplete="off"
          placeholder="ada@example.com"
          value={email}
          onChange={(e) => setEmail(e.target.value)}
        />
      </Field>
      <Field label="Tenant">
        <Select label="Tenant" value={where} choices={tenants} onChange={setWhere} />
      </Field>
      <RoleField role={role} onChange={setRole} wide={where === everywhere} />
    </FormDialog>
  );
}

function RoleField({ role, onChange, wide }: { role: Role; onChange: (role: Role) => void; wide: boolean }) {
  const known = roles.find((r) => r.role === role);
  return (
    <>
      <Field label="Role">
        <Select label="Role" value={role} choices={roleChoices} onChange={onChange} />
      </Field>
      <dl className="rounded-card border border-line bg-sunken px-3 py-2 text-12">
        <div className="flex gap-2">
          <dt className="w-20 shrink-0 text-ink-3">Reads</dt>
          <dd>
            {known?.read}
            {known?.payloads && "; may reveal payloads"}
          </dd>
        </div>
        <div className="flex gap-2">
          <dt className="w-20 shrink-0 text-ink-3">Changes</dt>
          <dd>{known?.change}</dd>
        </div>
        {wide && role === "admin" && (
          <p className="mt-1 text-amber">An admin for all tenants can do everything, and can grant this role to others.</p>
        )}
      </dl>
    </>
  );
}

export function ChangeRoleDialog({ member, onClose }: { member: Member; onClose: () => void }) {
  const queries = useQueryClient();
  const [role, setRole] = useState<Role>(member.role);
  const change = useRoleChange();
  const back = () => change.mutate({ member: { ...member, etag: "" }, role: member.role });
  const save = () =>
    change.mutate(
      { member, role },
      {
        onSuccess: () => {
          toast(`${memberName(member)} has the role ${role}`, { undo: back });
          onClose();
        },
      },
    );
  return (
    <FormDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Role of ${memberName(member)}`}
      description={`${member.tenant ? `In ${member.tenant}` : "For all tenants"}. Open sessions have the new role within a second.`}
      action="Save role"
      ready={role !== member.role}
      busy={change.isPending}
      error={change.error}
      onReload={() => {
        membersChanged(queries);
        onClose();
      }}
      onSubmit={save}
      call={{ method: "PATCH", path: `/admin/v1/members/${member.id}`, body: { role } }}
    >
      <RoleField role={role} onChange={setRole} wide={member.tenant === null} />
    </FormDialog>
  );
}
