import { useQuery } from "@tanstack/react-query";
import { read, type Schemas } from "@/api";
import { Card } from "@/components/Card";
import { Chip } from "@/components/Chip";
import { PlainTable } from "@/components/PlainTable";
import { EmptyState, ErrorPanel } from "@/components/States";
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
          rows={rows}
          idOf={(d) => [d.kind, d.version, d.method, d.path, d.field].join(" ")}
          columns={[
            { header: "Kind", cell: (d) => <Chip>{d.kind}</Chip> },
            { header: "What", cell: (d) => <What deprecation={d} />, className: "whitespace-nowrap" },
            { header: "Use instead", cell: (d) => <span className="font-mono text-12">{d.replacement ?? missing}</span> },
            { header: "Since", cell: (d) => formatDate(d.deprecated_at, zone), className: "num whitespace-nowrap" },
            { header: "May end", cell: (d) => formatDate(d.sunset_at, zone), className: "num whitespace-nowrap" },
            { header: "About", cell: (d) => d.about, className: "min-w-56" },
          ]}
        />
      )}
    </Card>
  );
}

function What({ deprecation: d }: { deprecation: Deprecation }) {
  const route = d.method && d.path ? `${d.method} ${d.path}` : null;
  return (
    <span className="font-mono text-12">
      {d.field ? `${d.field} of ${route ?? ""}` : (route ?? d.version)}
      {d.field && d.version && <span className="text-ink-3"> in {d.version}</span>}
    </span>
  );
}
