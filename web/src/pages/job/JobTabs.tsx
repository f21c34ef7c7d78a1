import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useRef, useState } from "react";
import { api, dataOf, readKey } from "@/api";
import { JsonView } from "@/components/CodeView";
import { CurlButton } from "@/components/Copy";
import { later } from "@/components/later";
import { Reveal } from "@/components/Reveal";
import { ErrorPanel } from "@/components/States";
import { Tabs } from "@/components/Tabs";
import { formatCount, indentJson } from "@/format";
import type { Delivery } from "@/pages/webhooks/state";
import { useRole } from "@/session";
import { Attempts } from "./Attempts";
import type { ItemsSearch } from "./ItemsTab";
import { hasEnded, type Item, type Job } from "./job";
import { LiveOutput } from "./LiveOutput";
import { Answer, InputBody } from "./Payload";
import type { JobTab } from "./route";

const DeliveriesTab = later(() => import("./DeliveriesTab").then((m) => m.DeliveriesTab));
const EventsTab = later(() => import("./EventsTab").then((m) => m.EventsTab));
const ItemsTab = later(() => import("./ItemsTab").then((m) => m.ItemsTab));

export interface JobTabsProps {
  tenant: string;
  job: Job;
  /** The item of a job with a single one. */
  item: Item | undefined;
  deliveries: readonly Delivery[];
  search: ItemsSearch & { tab?: JobTab };
  onSearch: (change: Record<string, string | undefined>) => void;
}

/** Payloads, items and events. A job with one item shows its output at once; one with many its items. */
export function JobTabs(props: JobTabsProps) {
  const { job, item, search, onSearch } = props;
  const single = job.counts.total === 1;
  const tabs: { value: JobTab; label: string; count?: string }[] = single
    ? [
        { value: "output", label: "Output" },
        { value: "input", label: "Input" },
        { value: "attempts", label: "Attempts", count: formatCount(item?.history.length ?? 0) },
      ]
    : [{ value: "items", label: "Items", count: formatCount(job.counts.total) }];
  tabs.push(
    { value: "events", label: "Events" },
    { value: "deliveries", label: "Deliveries", count: formatCount(props.deliveries.length) },
    { value: "json", label: "JSON" },
  );
  const tab = tabs.find((t) => t.value === search.tab)?.value ?? (single ? "output" : "items");
  return (
    <section aria-label="Content" className="border-t border-line">
      <Tabs
        label="Content"
        className="px-4 md:px-6"
        value={tab}
        tabs={tabs}
        onChange={(value) => onSearch({ tab: value })}
        aside={tab === "json" && <CurlButton call={{ path: `/v1/jobs/${job.id}` }} />}
      />
      <Content {...props} tab={tab} />
    </section>
  );
}

function Content({ tenant, job, item, deliveries, search, onSearch, tab }: JobTabsProps & { tab: JobTab }) {
  const mayReveal = useRole(tenant, "developer", "reviewer");
  switch (tab) {
    case "items":
      return <ItemsTab tenant={tenant} job={job} search={search} onSearch={onSearch} />;
    case "events":
      return (
        <Hidden what="the event log" allowed={mayReveal}>
          {() => <EventsTab tenant={tenant} job={job} />}
        </Hidden>
      );
    case "input":
      return (
        <Hidden what="the input" allowed={mayReveal}>
          {() => <div className={padding}>{item && <InputBody tenant={tenant} id={item.item_id} />}</div>}
        </Hidden>
      );
    case "attempts":
      return (
        <div className={padding}>
          <Attempts attempts={item?.history ?? []} />
        </div>
      );
    case "deliveries":
      return <DeliveriesTab deliveries={deliveries} />;
    case "json":
      return (
        <div className={padding}>
          <JobJson tenant={tenant} id={job.id} />
        </div>
      );
    default:
      return <OutputTab tenant={tenant} job={job} item={item} allowed={mayReveal} />;
  }
}

const padding = "px-4 py-4 md:px-6";

/** A payload behind Reveal, which has the gutter of the page while it hides. */
function Hidden({ what, allowed, children }: { what: string; allowed: boolean; children: () => ReactNode }) {
  const [shown, setShown] = useState(false);
  if (shown) return children();
  return (
    <div className={padding}>
      <Reveal what={what} allowed={allowed} onShow={() => setShown(true)} />
    </div>
  );
}

/** The answer of a job with one item: live while it is written, then as the server stored it. */
function OutputTab({ tenant, job, item, allowed }: { tenant: string; job: Job; item: Item | undefined; allowed: boolean }) {
  const streamed = useRef(job.stream && !hasEnded(job)).current; // a stream that a person watched stays on the page
  return (
    <>
      {item?.error && (
        <p className={`${padding} pb-0 break-words`}>
          <span className="font-mono text-12 text-red">{item.error.code}</span> {item.error.message}
        </p>
      )}
      {!job.stream && !hasEnded(job) ? (
        <p className={`${padding} text-ink-3`}>The job does not stream. Its output shows here once it has ended.</p>
      ) : (
        <Hidden what="the output" allowed={allowed}>
          {() => (
            <div className={padding}>
              {streamed ? <LiveOutput tenant={tenant} job={job.id} /> : item && <Answer tenant={tenant} id={item.item_id} />}
            </div>
          )}
        </Hidden>
      )}
    </>
  );
}

/** The job as the API answers it, without payloads. */
function JobJson({ tenant, id }: { tenant: string; id: string }) {
  const job = useQuery({
    queryKey: [...readKey(tenant, "/v1/jobs/{id}"), "text", id],
    queryFn: ({ signal }) => dataOf(api(tenant).GET("/v1/jobs/{id}", { params: { path: { id } }, parseAs: "text", signal })),
  });
  if (job.error) return <ErrorPanel error={job.error} onRetry={() => void job.refetch()} />;
  return job.data ? <JsonView label="Job" raw={indentJson(job.data)} maxHeight={640} /> : null;
}
