import { useNavigate } from "@tanstack/react-router";
import { Layers } from "lucide-react";
import { useCallback, useMemo } from "react";
import { asApiError, curlOf } from "@/api";
import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { CurlButton } from "@/components/Copy";
import { FilterBar, type FilterField } from "@/components/FilterBar";
import { Menu, MenuCheckItem } from "@/components/Menu";
import { Select } from "@/components/Select";
import { EmptyState, ErrorPanel, NoMatch } from "@/components/States";
import { Segments } from "@/components/Tabs";
import { formatClock, formatCount } from "@/format";
import { DayRange } from "@/frame/DayRange";
import { PageBody, WithPane } from "@/frame/Page";
import { PageHead } from "@/frame/PageHead";
import { usePreferences } from "@/hooks/preferences";
import { useLive } from "@/live";
import { useTenant } from "@/routes";
import { Budgets } from "./Budgets";
import { type Dimension, dimensionsAfter, dimensionWord, type Filters, filterFor, filterNames, type Line, tagNames } from "./dimension";
import { ExportButton } from "./ExportButton";
import { type Report, usagePath, useMonth, useReport, useScope, useUsageSearch } from "./query";
import { lanes, type Measure, type UsageSearch } from "./route";
import { Tokens } from "./Tokens";
import { Totals } from "./Totals";
import { UsageChart } from "./UsageChart";
import { UsageTable } from "./UsageTable";

const mostRows = 100;
const topics = { "budget.*": ["/v1/budgets", "/admin/v1/budgets"] };
const measureChoices: readonly { value: Measure; label: string }[] = [
  { value: "cost", label: "Cost" },
  { value: "requests", label: "Requests" },
  { value: "input", label: "Tokens in" },
  { value: "output", label: "Tokens out" },
];
const fields: readonly FilterField[] = [
  { name: "model", label: "Model", example: "fast" },
  { name: "key", label: "Key", example: "billing" },
  { name: "lane", label: "Lane", values: lanes },
  { name: "tag", label: "Tag", example: "team:search" },
];
const tenantField: FilterField = { name: "tenant", label: "Tenant", example: "acme" };

type Change = { [K in keyof UsageSearch]?: string | undefined };

export function UsagePage() {
  const tenant = useTenant();
  const search = useUsageSearch();
  const navigate = useNavigate();
  const set = useCallback(
    (change: Change, replace = true) =>
      void navigate({ to: ".", search: (old) => ({ ...(old as UsageSearch), ...change }) as never, replace }),
    [navigate],
  );
  useLive(tenant, topics);

  const scope = useScope();
  const byText = search.by ?? (tenant === null ? "tenant,model" : "model,key");
  const by = useMemo(() => byText.split(","), [byText]);
  const whole = { ...scope, group_by: byText };
  const report = useReport({ ...whole, top: String(mostRows) });
  const month = useMonth();
  const filtered = filterNames.some((name) => scope[name] !== undefined);
  const drill = useCallback(
    (line: Line, dimension: Dimension) => {
      const filter = filterFor(line, dimension);
      if (filter) set({ ...filter, by: dimensionsAfter(by, dimension, tenant === null).join(",") }, false);
    },
    [set, by, tenant],
  );
  const clear = () => set(Object.fromEntries(filterNames.map((name) => [name, undefined])));
  const total = report.isPlaceholderData ? undefined : report.data?.total;

  return (
    <div className="flex min-h-0 flex-1 flex-col overflow-y-auto">
      <PageHead title="Usage & cost" live>
        <DayRange value={search.range ?? "month"} onChange={(range) => set({ range: range === "month" ? undefined : range })} />
        <CurlButton call={{ path: usagePath(tenant), query: whole }} />
        <ExportButton query={whole} partial={partialReason(report)} />
      </PageHead>
      <WithPane
        pane={
          <>
            <Budgets />
            <Tokens total={total} />
          </>
        }
      >
        <div className="pt-4">
          <PageBody>
            <Totals total={total} month={month} filtered={filtered} />
            <FilterBar
              fields={tenant === null ? [tenantField, ...fields] : fields}
              values={search as Filters}
              onChange={(name, value) => set({ [name]: value })}
              placeholder="Add a filter: model, key, lane, tag…"
            />
            <ChartControls search={search} all={tenant === null} set={set} />
            <UsageChart
              dimension={search.chart ?? (tenant === null ? "tenant" : "model")}
              measure={search.measure ?? "cost"}
              onRange={(range) => set({ range }, false)}
            />
            <Card
              title="Groups"
              note={noteOf(report.data)}
              aside={<GroupBy by={by} all={tenant === null} onChange={(next) => set({ by: next.join(",") })} />}
            >
              {report.error ? (
                <ErrorPanel error={report.error} onRetry={() => void report.refetch()} />
              ) : (
                <UsageTable
                  report={report.data}
                  by={(report.data?.group_by as Dimension[] | undefined) ?? by}
                  loading={report.isPending}
                  refetching={report.isFetching}
                  drill={drill}
                  empty={filtered ? <NoMatch what="work in this range" onClear={clear} /> : <NoUsage />}
                />
              )}
            </Card>
            <AsOf report={report.data} />
          </PageBody>
        </div>
      </WithPane>
    </div>
  );
}

/** Why the report cannot be exported now; null if it can. */
function partialReason(report: ReturnType<typeof useReport>): string | null {
  if (report.error) return `The report is not whole: ${asApiError(report.error).message}`;
  if (report.isPending || report.isPlaceholderData) return "The report is still being read.";
  return null;
}

function noteOf(report: Report | undefined): string | undefined {
  return report?.data.some((line) => line.other) ? `the ${formatCount(mostRows)} with the highest cost; the export has all` : undefined;
}

function AsOf({ report }: { report: Report | undefined }) {
  const { zone } = usePreferences();
  if (!report) return null;
  return (
    <p className="text-12 text-ink-3">
      As of {formatClock(report.as_of, zone)}. Days are days of UTC, and today is not over. The ledger is exact, and also has the work of
      jobs that were deleted.
    </p>
  );
}

function ChartControls({ search, all, set }: { search: UsageSearch; all: boolean; set: (change: Change) => void }) {
  const names = useTagNames();
  const dimensions = [...(all ? ["tenant"] : []), "model", "key", "lane", ...names.map((n) => `tag:${n}`)];
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Segments
        label="Measure"
        value={search.measure ?? "cost"}
        tabs={measureChoices}
        onChange={(measure) => set({ measure: measure === "cost" ? undefined : measure })}
      />
      <div className="flex items-center gap-2 md:ml-auto">
        <span className="text-12 text-ink-3">Bars by</span>
        <Select
          label="Bars by"
          value={search.chart ?? (all ? "tenant" : "model")}
          choices={dimensions.map((d) => ({ value: d, label: dimensionWord(d) }))}
          onChange={(chart) => set({ chart })}
        />
      </div>
    </div>
  );
}

/** The names of the tags in use. */
function useTagNames(): string[] {
  const scope = useScope();
  const tags = useReport({ ...scope, group_by: "tag", top: String(mostRows) });
  return useMemo(() => tagNames(tags.data?.data ?? []), [tags.data]);
}

/** Which dimensions the table has. At least one stays. */
function GroupBy({ by, all, onChange }: { by: readonly Dimension[]; all: boolean; onChange: (by: Dimension[]) => void }) {
  const names = useTagNames();
  const choices = [...(all ? ["tenant"] : []), "model", "key", "lane", "tag", ...names.map((n) => `tag:${n}`)];
  const toggle = (dimension: Dimension, on: boolean) => {
    const next = on ? [...by, dimension] : by.filter((d) => d !== dimension);
    if (next.length > 0) onChange(next);
  };
  return (
    <Menu
      trigger={
        <Button small icon={Layers}>
          Group by {by.map((d) => dimensionWord(d).toLowerCase()).join(", ")}
        </Button>
      }
    >
      {choices.map((d) => (
        <MenuCheckItem key={d} checked={by.includes(d)} onChange={(on) => toggle(d, on)}>
          {dimensionWord(d)}
        </MenuCheckItem>
      ))}
    </Menu>
  );
}

function NoUsage() {
  const command = curlOf({
    method: "POST",
    path: "/v1/chat/completions",
    body: { model: "fast", messages: [{ role: "user", content: "Hello" }] },
  });
  return (
    <EmptyState title="Nothing was used in this range" command={command}>
      Every call and every item of a job counts here, by tenant, model, key, lane and tag. Make the first call:
    </EmptyState>
  );
}
