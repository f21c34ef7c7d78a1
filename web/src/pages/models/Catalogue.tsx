import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { readPages, type Schemas } from "@/api";
import { Chip } from "@/components/Chip";
import { SearchInput } from "@/components/SearchInput";
import { Select } from "@/components/Select";
import { ErrorPanel, NoMatch } from "@/components/States";
import { Tip } from "@/components/Tooltip";
import { ColumnPicker } from "@/components/table/ColumnPicker";
import type { Column } from "@/components/table/column";
import { DataTable } from "@/components/table/DataTable";
import { formatDate, missing } from "@/format";
import { usePreferences } from "@/hooks/preferences";
import { Capabilities } from "./Capabilities";
import { contextText } from "./modelColumns";
import { PriceCell } from "./Price";
import { type ModelsChange, type ModelsSearch, modes } from "./route";

type CatalogueModel = Schemas["CatalogueModel"];

const columns: readonly Column<CatalogueModel>[] = [
  { id: "vendor", header: "Vendor", width: "88px", narrow: "line", cell: (m) => m.vendor },
  {
    id: "model",
    header: "Model",
    width: "minmax(260px, 1fr)",
    fixed: true,
    narrow: "lead",
    cell: (m) => (
      <span className="inline-flex max-w-full items-center gap-2">
        <span className="truncate font-mono text-12">{m.model}</span>
        <End day={m.ends_on} />
      </span>
    ),
  },
  { id: "mode", header: "Kind", width: "80px", narrow: "side", cell: (m) => m.mode },
  { id: "context", header: "Context", width: "72px", align: "right", narrow: "line", cell: (m) => contextText(m.context_tokens) },
  { id: "largest", header: "Answer up to", width: "84px", align: "right", cell: (m) => contextText(m.largest_output_tokens) },
  { id: "input", header: "Input", width: "64px", align: "right", narrow: "line", cell: (m) => <PriceCell usd={m.price.input} /> },
  { id: "cached", header: "Cached", width: "64px", align: "right", cell: (m) => <PriceCell usd={m.price.cached_input} /> },
  { id: "write", header: "Cache write", width: "80px", extra: true, align: "right", cell: (m) => <PriceCell usd={m.price.cache_write} /> },
  { id: "output", header: "Output", width: "64px", align: "right", narrow: "line", cell: (m) => <PriceCell usd={m.price.output} /> },
  { id: "batch", header: "Batch in / out", width: "128px", extra: true, align: "right", cell: batchPrice },
  { id: "capabilities", header: "Capabilities", width: "200px", cell: (m) => <Capabilities names={m.capabilities} /> },
];

function batchPrice({ price }: CatalogueModel) {
  if (!price.batch_input && !price.batch_output) return <span className="text-ink-3">{missing}</span>;
  return (
    <>
      <PriceCell usd={price.batch_input} /> / <PriceCell usd={price.batch_output} />
    </>
  );
}

/** The day on which the vendor stops to serve a model. */
function End({ day }: { day: string | null }) {
  if (!day) return null;
  const past = Date.parse(day) <= Date.now();
  return (
    <Tip text={past ? "The vendor no longer serves it." : "The vendor stops serving it on this day."}>
      <span className="inline-flex shrink-0">
        <Chip hue={past ? "red" : "amber"}>
          {past ? "ended" : "ends"} {formatDate(day, "utc")}
        </Chip>
      </span>
    </Tip>
  );
}

export interface CatalogueProps {
  /** The tenant whose session reads it; the catalogue is the same for all. */
  tenant: string;
  search: ModelsSearch;
  onChange: (change: ModelsChange) => void;
}

/** Every model that vendors offer, with public prices: to find one, and to compare. */
export function Catalogue({ tenant, search, onChange }: CatalogueProps) {
  const { zone } = usePreferences();
  const query = useMemo(() => {
    const { vendor, mode, search: text } = search;
    return { limit: 200, ...(vendor ? { vendor } : {}), ...(mode ? { mode } : {}), ...(text ? { search: text } : {}) };
  }, [search]);
  const pages = useInfiniteQuery({ ...readPages(tenant, "/v1/catalogue", query), placeholderData: keepPreviousData });
  const rows = useMemo(() => pages.data?.pages.flatMap((p) => p.data) ?? [], [pages.data]);
  const first = pages.data?.pages[0];
  const shown = search.columns?.split(",");
  const any = (label: string) => ({ value: "", label });
  const clear = () => onChange({ vendor: undefined, mode: undefined, search: undefined });
  return (
    <>
      <div className="flex flex-wrap items-center gap-2 px-4 py-3 md:px-6">
        <SearchInput
          label="Search the catalogue"
          placeholder="Search by name, such as sonnet or gpt-4.1"
          value={search.search ?? ""}
          onChange={(text) => onChange({ search: text || undefined })}
        />
        <Select
          label="Vendor"
          value={search.vendor ?? ""}
          choices={[any("All vendors"), ...(first?.vendors ?? []).map((v) => ({ value: v, label: v }))]}
          onChange={(vendor) => onChange({ vendor: vendor || undefined })}
        />
        <Select
          label="Kind"
          value={search.mode ?? ""}
          choices={[any("All kinds"), ...modes.map((m) => ({ value: m, label: m }))]}
          onChange={(mode) => onChange({ mode: (mode || undefined) as ModelsSearch["mode"] })}
        />
        <ColumnPicker columns={columns} shown={shown} onChange={(ids) => onChange({ columns: ids.join(",") })} />
        {first && (
          <Tip text={first.source}>
            <span className="text-12 text-ink-3">Dollars per million tokens, as of {formatDate(first.date, zone)}</span>
          </Tip>
        )}
      </div>
      {pages.error ? (
        <ErrorPanel error={pages.error} onRetry={() => void pages.refetch()} />
      ) : (
        <DataTable
          label="Catalogue"
          columns={columns}
          rows={rows}
          idOf={(m) => m.id}
          shown={shown}
          loading={pages.isPending}
          refetching={pages.isRefetching}
          hasMore={pages.hasNextPage}
          loadingMore={pages.isFetchingNextPage}
          onMore={() => void pages.fetchNextPage()}
          empty={<NoMatch what="models" onClear={clear} />}
        />
      )}
    </>
  );
}
