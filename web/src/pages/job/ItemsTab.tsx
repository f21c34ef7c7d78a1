import { Search } from "lucide-react";
import { useState } from "react";
import { usePages } from "@/api";
import { CurlButton } from "@/components/Copy";
import { Cost } from "@/components/Cost";
import { inputLook } from "@/components/Field";
import { asState, StateGlyph, StateText, stateWord } from "@/components/StateGlyph";
import { ErrorPanel, NoMatch } from "@/components/States";
import { Tabs } from "@/components/Tabs";
import type { Column } from "@/components/table/column";
import { DataTable } from "@/components/table/DataTable";
import { formatCount, missing } from "@/format";
import type { Job, ListedItem } from "./job";
import { itemStatuses } from "./route";

const columns: readonly Column<ListedItem>[] = [
  { id: "state", header: "State", width: "104px", narrow: "lead", cell: (i) => <StateText state={asState(i.status)} /> },
  { id: "index", header: "Index", width: "56px", align: "right", narrow: "line", cell: (i) => formatCount(i.index) },
  { id: "custom_id", header: "Custom id", width: "minmax(140px, 1.2fr)", narrow: "line", cell: (i) => i.custom_id ?? missing },
  { id: "target", header: "Target", width: "minmax(96px, 1fr)", cell: (i) => i.target ?? missing },
  {
    id: "error",
    header: "Error",
    width: "minmax(136px, 1fr)",
    narrow: "line",
    cell: (i) => (i.error ? <span className="font-mono text-12 text-red">{i.error.code}</span> : missing),
  },
  { id: "attempts", header: "Attempts", width: "60px", align: "right", cell: (i) => i.attempts },
  {
    id: "cost",
    header: "Cost",
    width: "76px",
    align: "right",
    narrow: "side",
    cell: (i) => <Cost usd={i.finished_at ? i.usage.cost_usd : null} what="settled" />,
  },
];

export interface ItemsSearch {
  status?: (typeof itemStatuses)[number];
  custom_id?: string;
  item?: string;
}

/** The items of a job, a page at a time, whatever their number. */
export function ItemsTab(props: {
  tenant: string;
  job: Job;
  search: ItemsSearch;
  onSearch: (change: { [K in keyof ItemsSearch]?: ItemsSearch[K] | undefined }) => void;
}) {
  const { tenant, job, search, onSearch } = props;
  const query = {
    limit: 100,
    ...(search.status ? { status: search.status } : {}),
    ...(search.custom_id ? { custom_id: search.custom_id } : {}),
  };
  const { list, table, rows } = usePages<ListedItem>(tenant, "/v1/jobs/{id}/items", { path: { id: job.id }, query });
  const total = search.custom_id ? undefined : search.status ? job.counts[search.status] : job.counts.total;
  const tabs = [
    { value: "all", label: "All", count: formatCount(job.counts.total) },
    ...itemStatuses
      .filter((s) => job.counts[s] > 0 || s === search.status)
      .map((s) => ({ value: s, label: stateWord(s), icon: <StateGlyph state={s} />, count: formatCount(job.counts[s]) })),
  ];
  return (
    <div className="flex h-[max(420px,calc(100vh-440px))] flex-col">
      <Tabs
        label="Item state"
        className="px-4 md:px-6"
        value={search.status ?? "all"}
        tabs={tabs}
        onChange={(s) => onSearch({ status: s === "all" ? undefined : (s as ItemsSearch["status"]), item: undefined })}
        aside={
          <>
            <CustomIdSearch key={search.custom_id} value={search.custom_id} onChange={(custom_id) => onSearch({ custom_id })} />
            <CurlButton call={{ path: `/v1/jobs/${job.id}/items`, query }} />
          </>
        }
      />
      {list.error && <ErrorPanel error={list.error} onRetry={() => void list.refetch()} />}
      {(!list.error || rows.length > 0) && (
        <DataTable
          label="Items"
          columns={columns}
          idOf={(i) => i.id}
          {...table}
          total={total}
          onOpen={(i) => onSearch({ item: i.id })}
          onPeek={(i) => onSearch({ item: search.item === i.id ? undefined : i.id })}
          empty={<NoMatch what="items" onClear={() => onSearch({ status: undefined, custom_id: undefined })} />}
        />
      )}
    </div>
  );
}

/** Finds the item with a custom id, exactly. */
function CustomIdSearch({ value, onChange }: { value: string | undefined; onChange: (value: string | undefined) => void }) {
  const [text, setText] = useState(value ?? "");
  return (
    <form
      className="relative mr-2 hidden w-52 md:block"
      onSubmit={(e) => {
        e.preventDefault();
        onChange(text || undefined);
      }}
    >
      <Search aria-hidden className="absolute top-[7px] left-2 size-3.5 text-ink-3" strokeWidth={1.75} />
      <input
        type="search"
        aria-label="Custom id"
        placeholder="Custom id, exactly"
        value={text}
        onChange={(e) => {
          setText(e.target.value);
          if (e.target.value === "" && value) onChange(undefined);
        }}
        className={`${inputLook} h-[28px] pl-7 text-12`}
      />
    </form>
  );
}
