import { useQuery } from "@tanstack/react-query";
import { read, type Schemas } from "@/api";
import { Card } from "@/components/Card";
import { Chip } from "@/components/Chip";
import { EmptyState, ErrorPanel } from "@/components/States";
import { PlainTable } from "@/components/table/PlainTable";
import { formatDate, missing } from "@/format";
import { usePreferences } from "@/hooks/preferences";

type Deprecation = Schemas["Deprecation"];

/** Versions, routes and fields of the API that may be removed, with their replacements. */
export function DeprecationsSection() {
  const list = useQuery(read(null, "/v1/deprecations"));
  const { zone } = usePreferences();
  const rows = list.data?.data ?? [];
  if (list.error) return <ErrorPanel error={list.error} onRetry={() => void list.refetch()} />;
  return (
    <Card title="Deprecations of the API" note="May be removed from the given day" className="shrink-0">
      {list.isSuccess && rows.length === 0 ? (
        <EmptyState title="No deprecations">Nothing of the API is deprecated.</EmptyState>
      ) : (
        <PlainTable
          label="Deprecations"
          rows={groupsOf(rows)}
          idOf={(g) => g.id}
          columns={[
            { id: "kind", header: "Kind", width: "88px", narrow: "side", cell: (g) => <Chip>{g.first.kind}</Chip> },
            { id: "what", header: "What", width: "400px", narrow: "lead", cell: (g) => <What group={g} /> },
            {
              id: "instead",
              header: "Use instead",
              width: "240px",
              narrow: "line",
              cell: (g) => <span className="font-mono text-12">{g.first.replacement ?? missing}</span>,
            },
            { id: "since", header: "Since", width: "120px", align: "right", cell: (g) => formatDate(g.first.deprecated_at, zone) },
            {
              id: "end",
              header: "May end",
              width: "120px",
              align: "right",
              narrow: "line",
              cell: (g) => formatDate(g.first.sunset_at, zone),
            },
          ]}
          under={(g) => g.first.about}
        />
      )}
    </Card>
  );
}

interface Group {
  id: string;
  first: Deprecation;
  routes: string[];
}

/** A field that several routes answer with is one row. */
function groupsOf(list: readonly Deprecation[]): Group[] {
  const groups = new Map<string, Group>();
  for (const d of list) {
    const id = [d.kind, d.version, d.field, d.replacement, d.about, d.field ? "" : `${d.method} ${d.path}`].join("|");
    const group = groups.get(id) ?? { id, first: d, routes: [] };
    if (d.method && d.path) group.routes.push(`${d.method} ${d.path}`);
    groups.set(id, group);
  }
  return [...groups.values()];
}

function What({ group: { first, routes } }: { group: Group }) {
  return (
    <span className="flex flex-col font-mono text-12/5">
      <span>
        {first.field ?? (routes.length > 0 ? null : first.version)}
        {first.field && first.version && <span className="text-ink-3"> in version {first.version}, of</span>}
      </span>
      {routes.map((route) => (
        <span key={route}>{route}</span>
      ))}
    </span>
  );
}
