import { useNavigate } from "@tanstack/react-router";
import { type Schemas, usePages } from "@/api";
import { Card } from "@/components/Card";
import { CurlButton } from "@/components/Copy";
import { Cost } from "@/components/Cost";
import { FilterBar, type FilterField } from "@/components/FilterBar";
import { Select } from "@/components/Select";
import { asState, StateText } from "@/components/StateGlyph";
import { ErrorPanel, NoMatch } from "@/components/States";
import { TimeAgo } from "@/components/Time";
import type { Column } from "@/components/table/column";
import { DataTable } from "@/components/table/DataTable";
import { formatCount, missing, shortId } from "@/format";
import { type Batch, isOpen } from "./batch";
import { type BatchSearch, itemStatuses } from "./route";

type Item = Schemas["ListedItem"];
type ItemQuery = { limit: number; status?: (typeof itemStatuses)[number]; custom_id?: string };

const columns: readonly Column<Item>[] = [
  { id: "state", header: "State", width: "92px", fixed: true, narrow: "lead", cell: (i) => <StateText state={asState(i.status)} /> },
  { id: "index", header: "Line", width: "48px", align: "right", cell: (i) => formatCount(i.index + 1) },
  { id: "custom", header: "Custom id", width: "minmax(130px, 1.2fr)", narrow: "line", cell: (i) => <CustomId item={i} /> },
  { id: "target", header: "Target", width: "minmax(90px, 1fr)", narrow: "line", cell: (i) => i.target ?? missing },
  { id: "error", header: "Error", width: "minmax(110px, 1fr)", cell: (i) => <ErrorCode item={i} /> },
  { id: "tries", header: "Attempts", width: "56px", align: "right", cell: (i) => formatCount(i.attempts) },
  { id: "cost", header: "Cost", width: "76px", align: "right", narrow: "side", cell: (i) => <ItemCost item={i} /> },
  { id: "ended", header: "Ended", width: "48px", align: "right", cell: (i) => <TimeAgo iso={i.finished_at} /> },
];

function CustomId({ item }: { item: Item }) {
  return (
    <span className="font-mono text-12" title={item.custom_id ?? item.item_id}>
      {item.custom_id ?? missing}
    </span>
  );
}

function ItemCost({ item }: { item: Item }) {
  return <Cost usd={item.finished_at ? item.usage.cost_usd : null} what="settled" />;
}

function ErrorCode({ item }: { item: Item }) {
  if (!item.error) return <span className="text-ink-3">{missing}</span>;
  return (
    <span className="font-mono text-12 text-red" title={item.error.message}>
      {item.error.code}
    </span>
  );
}

const fields: readonly FilterField[] = [
  { name: "status", label: "State", values: itemStatuses },
  { name: "custom_id", label: "Custom id", example: "line-1" },
];

interface Props {
  tenant: string;
  batch: Batch;
  search: BatchSearch;
  onSearch: (change: Partial<Record<keyof BatchSearch, string | undefined>>) => void;
}

/** The items of a batch: filter by state, find by custom id, open in the page of the job. */
export function Items({ tenant, batch: b, search, onSearch }: Props) {
  const navigate = useNavigate();
  const job = search.job && b.jobs.includes(search.job) ? search.job : b.id;
  const query: ItemQuery = {
    limit: 100,
    ...(search.status ? { status: search.status } : {}),
    ...(search.custom_id ? { custom_id: search.custom_id } : {}),
  };
  const { list, table } = usePages<Item>(tenant, "/v1/jobs/{id}/items", { path: { id: job }, query });
  const filtered = Boolean(search.status || search.custom_id);
  const total = b.jobs.length === 1 && !filtered ? b.counts.total : undefined;
  return (
    <Card
      title="Items"
      note={isOpen(b) ? "partial: the batch still runs" : undefined}
      aside={
        <>
          {b.jobs.length > 1 && (
            <Select
              small
              label="Job"
              value={job}
              choices={b.jobs.map((j) => ({ value: j, label: shortId(j) }))}
              onChange={(j) => onSearch({ job: j })}
            />
          )}
          <CurlButton call={{ path: `/v1/jobs/${job}/items`, query }} />
        </>
      }
    >
      <div className="border-b border-line p-3">
        <FilterBar
          fields={fields}
          values={search}
          onChange={(name, value) => onSearch({ [name]: value })}
          onText={(text) => onSearch({ custom_id: text })}
          placeholder="State, or a custom id…"
        />
      </div>
      {list.error ? (
        <ErrorPanel error={list.error} onRetry={() => void list.refetch()} />
      ) : (
        <div className="flex h-[456px] flex-col">
          <DataTable
            label="Items"
            columns={columns}
            {...table}
            idOf={(i) => i.item_id}
            total={total}
            onOpen={(i) => void navigate({ to: `/t/${encodeURIComponent(tenant)}/jobs/${i.job_id}` as "/" })}
            empty={filtered ? <NoMatch what="items" onClear={() => onSearch({ status: undefined, custom_id: undefined })} /> : <Unread />}
          />
        </div>
      )}
    </Card>
  );
}

function Unread() {
  return <p className="px-6 py-8 text-ink-2">No line of the file is an item yet. Lines become items shortly before they run.</p>;
}
