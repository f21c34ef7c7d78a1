import { Card } from "@/components/Card";
import { Chip } from "@/components/Chip";
import { PlainTable } from "@/components/PlainTable";
import { missing } from "@/format";
import { roles } from "./roles";

/** What each role may do, in short. */
export function RoleTable() {
  return (
    <Card title="Roles" note="In one tenant, or for all tenants">
      <PlainTable
        label="Roles"
        rows={roles}
        idOf={(r) => r.role}
        columns={[
          { header: "Role", cell: (r) => <Chip mono>{r.role}</Chip> },
          { header: "For a person who", cell: (r) => r.about, className: "whitespace-nowrap" },
          { header: "Reads", cell: (r) => r.read, className: "whitespace-nowrap" },
          {
            header: "Reveals payloads",
            cell: (r) => (r.payloads ? "Yes, each time is audited" : <span className="text-ink-3">{missing}</span>),
            className: "whitespace-nowrap",
          },
          { header: "Changes", cell: (r) => r.change, className: "w-full" },
        ]}
      />
    </Card>
  );
}
