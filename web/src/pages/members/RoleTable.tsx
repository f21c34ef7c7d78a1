import { Card } from "@/components/Card";
import { Chip } from "@/components/Chip";
import { PlainTable } from "@/components/table/PlainTable";
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
          { id: "role", header: "Role", width: "96px", narrow: "lead", cell: (r) => <Chip mono>{r.role}</Chip> },
          { id: "about", header: "For a person who", width: "200px", narrow: "side", cell: (r) => r.about },
          { id: "read", header: "Reads", width: "280px", narrow: "line", cell: (r) => r.read },
          {
            id: "payloads",
            header: "Reveals payloads",
            width: "200px",
            narrow: "line",
            cell: (r) => (r.payloads ? "Yes, each time is audited" : <span className="text-ink-3">{missing}</span>),
          },
        ]}
        under={(r) => <>Changes: {r.change}</>}
      />
    </Card>
  );
}
